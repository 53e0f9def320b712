"""What a call in a host function comes to: a launch, a function of the workspace that is followed, or what torch makes of its arguments."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

from attrs import define, field

from kernelband.source.model import Place
from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.torch_calls import ALIKE, made, method
from kernelband.workload.draft.values import (
    CEILING,
    POWER,
    Const,
    Dims,
    Instance,
    Linear,
    Param,
    Rank,
    Several,
    Shape,
    Size,
    Stride,
    Strides,
    Tensor,
    Value,
    size_of,
    tensor_of,
)

DEEPEST = 5  # functions in functions


class Walk(Protocol):
    """Where the function is followed from."""

    code: Code

    def enter(self, function: Definition, names: dict[str, Value], inside: tuple[Place, ...]) -> Value:
        """What a function returns whose parameters are these."""
        ...

    def launched(self, kernel: Definition, passed: Mapping[str, Value], grid: Value) -> None:
        """A launch was met."""
        ...


@define
class Calls(ABC):
    """``names``: what each means; ``inside``: the functions that are being followed, so that none is in itself; ``kept``: parameters that
    are bound again only where they are None.
    """

    walk: Walk
    path: str
    names: dict[str, Value]
    inside: tuple[Place, ...]
    kept: list[str] = field(factory=list[str])

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """What any expression comes to."""

    def call(self, node: ast.Call) -> Value:
        launch = self.launch(node)
        if launch:
            return None
        func = node.func
        if isinstance(func, ast.Attribute):
            owner = None if isinstance(func.value, ast.Name) and func.value.id == "torch" else self.value(func.value)
            if isinstance(owner, Param) and owner.kind in (None, "tensor") and func.attr in ALIKE:
                owner.is_a("tensor", f"it has .{func.attr}()")
            if isinstance(owner, Tensor) or (isinstance(owner, Param) and owner.kind == "tensor"):
                whole = owner if isinstance(owner, Tensor) else owner.tensor
                return method(whole, func.attr, self.arguments(node), node.args)
            if isinstance(owner, Instance) and func.attr in ("register_buffer", "register_parameter") and len(node.args) > 1:
                owner.attributes[ast.unparse(node.args[0]).strip("'")] = self.value(node.args[1])
                return None
            if isinstance(owner, Instance) and isinstance(owner.attributes.get(func.attr), Linear):
                return self.linear(owner.attributes[func.attr], node)
            if isinstance(owner, Instance) and owner.of is not None:
                return self.enter(owner.of.method(func.attr), node, owner)
            if isinstance(owner, Definition) and func.attr == "apply" and owner.is_autograd:
                return self.enter(owner.method("forward"), node, None)
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        given = self.arguments(node)
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if name == "len" and given:
            return self.length(given[0])
        if name in ("int", "float", "max", "min") and given:
            return given[0] if len(given) == 1 else next((g for g in given if isinstance(g, Size)), None)
        if name == POWER and given and (size := size_of(given[0])) is not None and size.value is None:
            return Size(formula=(POWER, size, size))
        if name == CEILING and len(given) == 2 and (a := size_of(given[0])) is not None and (b := size_of(given[1])) is not None:
            return Size(formula=(CEILING, a, b)) if a.root.value is None else None
        if name in (CEILING, POWER, "isinstance", "range", "print"):
            return None
        found = self.walk.code.meant(func, self.path) if not isinstance(func, ast.Subscript) else None
        if found is not None and found.function is not None and not found.is_kernel:
            return self.enter(found, node, None)
        return made(name, given, named)

    def linear(self, layer: Value, node: ast.Call) -> Value:
        """What a ``torch.nn.Linear`` gives: the shape of what it takes, but for the last dimension."""
        given = tensor_of(self.value(node.args[0]), "a layer takes it") if node.args else None
        if given is None or not isinstance(layer, Linear):
            return None
        if layer.taken is not None:
            given.shape.dim(-1).merge(layer.taken)
        out = Shape()
        if layer.given is not None:
            out.dim(-1).merge(layer.given)
        return Tensor(shape=out)

    def arguments(self, node: ast.Call) -> list[Value]:
        """Those that are given by place, up to the first that nobody can count."""
        out: list[Value] = []
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                out.append(self.value(argument))
                continue
            several = self.value(argument.value)
            if isinstance(several, Several):
                out += several.items
            elif isinstance(several, Strides) and several.tensor.shape.root.rank is not None:
                out += [Stride(several.tensor, i) for i in range(several.tensor.shape.root.rank)]
            elif isinstance(several, Dims) and several.start is None and several.stop is None and several.shape.root.rank is not None:
                out += several.shape.dims()
            else:
                break
        return out

    def length(self, value: Value) -> Value:
        if isinstance(value, Dims) and value.start is None and value.stop is None:
            return Rank(value.shape)
        if isinstance(value, Tensor) or (isinstance(value, Param) and value.kind == "tensor"):
            return (value if isinstance(value, Tensor) else value.tensor).shape.dim(0)
        if isinstance(value, Param) and value.kind == "ints":
            return value.size
        return Const(len(value.items)) if isinstance(value, Several) else None

    def enter(self, function: Definition | None, node: ast.Call, owner: Instance | None) -> Value:
        """Follow a function of the workspace that is called here."""
        args = function.function.args if function is not None and function.function is not None else None
        if function is None or args is None or function.place in self.inside or len(self.inside) > DEEPEST:
            return None
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        inner: dict[str, Value] = {}
        marks = function.decorators
        if (
            names
            and "." in function.place.qualname
            and (names[0] in ("self", "cls", "ctx") or (owner is not None and "staticmethod" not in marks))
        ):
            inner[names.pop(0)] = owner
        defaults = dict(zip(reversed(names), reversed(args.defaults), strict=False))
        inner |= {name: Const(d.value) for name, d in defaults.items() if isinstance(d, ast.Constant)}
        inner |= dict(zip(names, self.arguments(node), strict=False))
        inner |= {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        return self.walk.enter(function, inner, self.inside)

    def launch(self, node: ast.Call) -> bool:
        """Whether it is a launch of a kernel, which is noted then."""
        if not isinstance(node.func, ast.Subscript):
            return False
        target = node.func.value
        if isinstance(target, ast.Call) and target.args:  # wrap_triton(kernel)
            target = target.args[0]
        kernel = self.value(target) if isinstance(target, ast.Name) else self.walk.code.meant(target, self.path)
        function = kernel.function if isinstance(kernel, Definition) and kernel.is_kernel else None
        if not isinstance(kernel, Definition) or function is None:
            return False
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        passed: dict[str, Value] = dict(zip(names, self.arguments(node), strict=False))
        passed |= {k.arg: self.value(k.value) for k in node.keywords if k.arg in names}
        self.walk.launched(kernel, passed, self.value(node.func.slice))
        return True

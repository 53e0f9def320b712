"""Calls of the function elsewhere in the workspace: the numbers and shapes that are written there."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.workload.draft.code import Code
from kernelband.workload.draft.host import Host
from kernelband.workload.draft.signature import BY_TYPE
from kernelband.workload.draft.values import Param, Size

MOST_FILES = 40
MAKERS = frozenset({"randn", "rand", "empty", "zeros", "ones", "full", "randint"})


def apply_calls(code: Code, host: Host, params: Sequence[Param]) -> None:
    """What calls of it pass as literals, and the shapes of tensors that are made right before them."""
    own = host.function.place.path
    others = (p for p in code.workspace.files(own) if p != own and code.workspace.mentions(p, host.name))
    for path in (own, *islice(others, MOST_FILES)):
        for scope in _scopes(code.top(path)):
            site = _Site(dict(_assigned(scope)), os.path.basename(path))
            for call in all_nodes(scope):
                if isinstance(call, ast.Call) and _is_meant(code, call.func, path, host):
                    site.apply(call, params)


def _is_meant(code: Code, func: ast.expr, path: str, host: Host) -> bool:
    written = ast.unparse(func)
    if not written.endswith(host.called.rpartition(".")[2]):
        return False
    if host.kind != "apply":
        found = code.meant(func, path)
        return found is not None and found.place == host.function.place
    if isinstance(func, ast.Name):  # an alias of apply
        return path == host.function.place.path and func.id == host.called
    found = code.meant(func.value, path) if isinstance(func, ast.Attribute) else None
    return found is not None and host.owner is not None and found.place == host.owner.place


def _scopes(body: list[ast.stmt]) -> list[ast.AST]:
    """Functions, and the file itself without them."""
    inner = [n for s in body for n in all_nodes(s) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [*inner, ast.Module([s for s in body if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))], [])]


def _assigned(scope: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What names are given by plain assignments."""
    for node in all_nodes(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs: list[tuple[ast.expr, ast.expr]] = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts, strict=True))
            yield from ((t.id, v) for t, v in pairs if isinstance(t, ast.Name))


@frozen
class _Site:
    """``made``: the last thing that each name is given in the function around it."""

    made: Mapping[str, ast.expr]
    file: str

    def apply(self, call: ast.Call, params: Sequence[Param]) -> None:
        """What one call says of the parameters."""
        if any(isinstance(a, ast.Starred) for a in call.args):
            return
        where = f"as {self.file} calls it (line {call.lineno})"
        given = dict(zip((p.name for p in params if not p.keyword_only), call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        nodes = {p.name: self.behind(given.get(p.name)) for p in params}
        whole = all(self.sizes(nodes[p.name]) for p in params if p.kind == "tensor" and p.default is None)
        for param in params:
            node = nodes[param.name]
            number = self.number(node)
            if isinstance(node, ast.Call):
                self.tensor(node, param, where, whole=whole)
            elif type(number) is int and param.kind in (None, "int"):
                if whole:
                    param.is_a("int", where)
                    param.size.merge(Size(value=number))
            elif number is not None and param.kind in (None, BY_TYPE[type(number)]) and not param.value:
                param.is_a(BY_TYPE[type(number)], where)
                param.value, param.why = json.dumps(number) if isinstance(number, str) else repr(number), where

    def tensor(self, node: ast.Call, param: Param, where: str, *, whole: bool) -> None:
        """``torch.randn(512, 64, dtype=torch.float16)``; ``whole``: the shapes of all tensors are written like that."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name not in MAKERS or param.kind not in (None, "tensor"):
            return
        param.is_a("tensor", where)
        sizes = self.sizes(node)
        if whole and sizes and param.tensor.shape.set_dims([Size(value=size) for size in sizes]):
            param.tensor.why = where
        dtype = next((ast.unparse(k.value) for k in node.keywords if k.arg == "dtype"), "")
        if dtype.startswith("torch."):
            param.tensor.dtype.set(dtype.removeprefix("torch."), where)
        elif name == "randint":
            param.tensor.dtype.set("int64", where)

    def behind(self, node: ast.expr | None) -> ast.expr | None:
        """What a name is given; of ``torch.randn(512, 64).to(x)`` the first call."""
        if isinstance(node, ast.Name) and node.id in self.made:
            node = self.made[node.id] if not isinstance(self.made[node.id], ast.Name) else None
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            node = node.func.value
        return node

    def sizes(self, node: ast.expr | None) -> list[int]:
        """The sizes of a tensor that is made with numbers only."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in MAKERS:
            return []
        group = next((a.elts for a in node.args if isinstance(a, (ast.Tuple, ast.List))), None)
        numbers = [self.number(a) for a in (group if group is not None else node.args if node.func.attr != "randint" else [])]
        sizes = [n for n in numbers if type(n) is int and n > 0]
        return sizes if len(sizes) == len(numbers) else []

    def number(self, node: ast.expr | None, depth: int = 4) -> int | float | str | bool | None:
        """A literal, also one that a name is given."""
        match node:
            case ast.Constant(value=int() | float() | str() as literal):
                return literal
            case ast.UnaryOp(op=ast.USub()):
                inner = self.number(node.operand, depth)
                return -inner if isinstance(inner, (int, float)) else None
            case ast.Name(id=name) if name in self.made and depth:
                return self.number(self.made[name], depth - 1)
            case _:
                return None

"""Calls that compute element by element, so that a block may get another side: the language's, the device library's, helpers of such."""

from __future__ import annotations

import ast
from functools import cached_property

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import binding
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.module import FunctionNode, Module
from kernelband.strategies.code.names import LANGUAGE, MATH, origins
from kernelband.strategies.code.view import View

#: Of ``triton.language``, without those that touch memory.
FUNCTIONS = frozenset(
    {"exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "abs", "sin", "cos", "erf", "floor", "ceil", "sigmoid"}
) | {
    *("fdiv", "div_rn", "maximum", "minimum", "where", "fma", "cast", "clamp"),
}
CASTS = frozenset({"to", "cast"})
_DEVICE = "libdevice"
HELPERS = 4  # that call one another
NEVER = ast.IfExp | ast.Subscript | ast.BoolOp | ast.NamedExpr | ast.Tuple | ast.Lambda  # in a helper


def is_elementwise(view: View, call: ast.Call) -> bool:
    """Whether an element of the result depends on the arguments' elements at its own place only, whatever shape they share."""
    return _Code(view, view.kernel.module, view.kernel.node).computes(call, HELPERS)


def compile_time(kernel: KernelView, test: ast.expr) -> bool:
    """Whether the compiler decides it: from constexprs and globals, which a kernel reads as such, without a call; or whether an argument
    is None, of which each way is compiled by itself.
    """
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return not kernel.bindings(name)
        case _:
            pass
    return not any(isinstance(n, ast.Call | ast.NamedExpr) or (isinstance(n, ast.Name) and _varies(kernel, n.id)) for n in all_nodes(test))


def _varies(kernel: KernelView, name: str) -> bool:
    return name not in kernel.constexprs and (name in kernel.parameters or bool(kernel.bindings(name)))


@frozen(eq=False)
class _Code:
    """A function that runs on the device, and the module that it reads its globals from."""

    view: View
    module: Module
    node: FunctionNode

    @cached_property
    def own(self) -> frozenset[str]:
        """Names that are the function's, whatever the module calls so."""
        given = self.node.args
        return frozenset(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)) | {*binding(self.node)}

    def computes(self, call: ast.Call, depth: int) -> bool:
        called = call.func
        if not isinstance(called, ast.Name | ast.Attribute) or any(isinstance(a, ast.Starred) for a in call.args):
            return False
        meant = [*origins(self.module.parents, called, self.own)]
        if meant:
            return all(map(_is_known, meant)) or (isinstance(called, ast.Name) and depth > 0 and self.helper(called.id, depth))
        return isinstance(called, ast.Attribute) and called.attr in CASTS

    def helper(self, name: str, depth: int) -> bool:
        """A jit function of the program that only computes, and gives what it computed once, at its end."""
        known = [h.place for h in self.view.program.helpers if h.place.name == self.module.imported.get(name, name)]
        if len(known) != 1 or (known[0].path == self.module.path) == (name in self.module.imported):
            return False
        module = self.view.modules.get(known[0].path)
        node = module.function(known[0].qualname) if module is not None else None
        if module is None or node is None:
            return False
        body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        if not body or not isinstance(body[-1], ast.Return) or not all(isinstance(s, ast.Assign) for s in body[:-1]):
            return False
        inside, code = [n for s in body for n in all_nodes(s)], _Code(self.view, module, node)
        return not any(isinstance(n, NEVER) for n in inside) and all(code.computes(n, depth - 1) for n in inside if isinstance(n, ast.Call))


def _is_known(origin: str) -> bool:
    package, _, name = origin.rpartition(".")
    if package == LANGUAGE:
        return name in FUNCTIONS
    return package == MATH or (package.startswith(f"{LANGUAGE}.extra.") and package.rpartition(".")[2] == _DEVICE)

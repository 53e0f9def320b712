"""Calls of the function elsewhere in the workspace: the numbers and shapes that are written there."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator, Sequence

from kernelband.errors import SourceError
from kernelband.workload.draft.code import Code
from kernelband.workload.draft.host import Host
from kernelband.workload.draft.signature import BY_TYPE
from kernelband.workload.draft.values import Param, Size

MOST_FILES = 40
MAKERS = frozenset({"randn", "rand", "empty", "zeros", "ones", "full", "randint"})


def apply_calls(code: Code, host: Host, params: Sequence[Param]) -> None:
    """What calls of it pass as literals, and the shapes of tensors that are made right before them."""
    for path in _files(code, host):
        tree = code.tree(path)
        for scope in _scopes(tree) if tree is not None else ():
            made = _assigned(scope)
            for call in ast.walk(scope):
                if isinstance(call, ast.Call) and _is_meant(code, call.func, path, host):
                    _apply(call, params, made, f"as {os.path.basename(path)} calls it (line {call.lineno})")


def _is_meant(code: Code, func: ast.expr, path: str, host: Host) -> bool:
    if not ast.unparse(func).endswith(host.called.rpartition(".")[2]):
        return False
    if host.kind == "apply":
        if isinstance(func, ast.Name):  # an alias of apply
            return path == host.function.place.path and func.id == host.called
        func = func.value if isinstance(func, ast.Attribute) else func
    found = code.meant(func, path)
    return found is not None and found.place in (host.function.place, host.owner.place if host.kind == "apply" and host.owner else None)


def _files(code: Code, host: Host) -> Iterator[str]:
    own = host.function.place.path
    yield own
    count = 0
    for path in code.workspace.files(own):
        if path == own or count >= MOST_FILES or not code.workspace.mentions(path, host.name):
            continue
        count += 1
        try:
            code.text(path)
        except SourceError:  # then it calls nothing
            continue
        yield path


def _scopes(tree: ast.Module) -> list[ast.AST]:
    """Functions, and the file itself without them."""
    inner = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    top = ast.Module([n for n in tree.body if not isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))], [])
    return [*inner, top]


def _assigned(scope: ast.AST) -> dict[str, ast.expr]:
    """What names are given by plain assignments, the last one of each."""
    out: dict[str, ast.expr] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                out[target.id] = node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
                out |= {t.id: v for t, v in zip(target.elts, node.value.elts, strict=True) if isinstance(t, ast.Name)}
    return out


def _apply(call: ast.Call, params: Sequence[Param], made: dict[str, ast.expr], where: str) -> None:
    if any(isinstance(a, ast.Starred) for a in call.args):
        return
    given = dict(zip((p.name for p in params if not p.keyword_only), call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords if k.arg}
    nodes = {p.name: _behind(given.get(p.name), made) for p in params}
    whole = all(_sizes(node, made) for p in params if p.kind == "tensor" and p.default is None for node in [nodes[p.name]])
    for param in params:
        node = nodes[param.name]
        if node is None:
            continue
        number = _number(node, made)
        if number is not None and param.kind in (None, "int") and not isinstance(number, (str, bool, float)):
            if not whole:
                continue
            param.is_a("int", where)
            param.size.merge(Size(value=number, exact=True))
        elif number is not None and param.kind in (None, type(number).__name__) and not param.value:
            param.is_a(BY_TYPE[type(number)], where)
            param.value, param.why = json.dumps(number) if isinstance(number, str) else repr(number), where
        elif isinstance(node, ast.Call):
            _tensor(node, param, made, where, whole=whole)


def _behind(node: ast.expr | None, made: dict[str, ast.expr]) -> ast.expr | None:
    """What a name is given; of ``torch.randn(512, 64).to(x)`` the first call."""
    if isinstance(node, ast.Name) and node.id in made:
        node = made[node.id] if not isinstance(made[node.id], ast.Name) else None
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    return node


def _sizes(node: ast.expr | None, made: dict[str, ast.expr]) -> list[int]:
    """The sizes of a tensor that is made with numbers only."""
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    if not isinstance(node, ast.Call) or name not in MAKERS:
        return []
    group = next((a for a in node.args if isinstance(a, (ast.Tuple, ast.List))), None)
    sizes = [_number(a, made) for a in (group.elts if group is not None else node.args if name != "randint" else [])]
    return [s for s in sizes if type(s) is int] if all(type(s) is int and s > 0 for s in sizes) else []


def _tensor(node: ast.Call, param: Param, made: dict[str, ast.expr], where: str, *, whole: bool) -> None:
    """``torch.randn(512, 64, dtype=torch.float16)``; ``whole``: the shapes of all tensors are written like that."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name not in MAKERS or param.kind not in (None, "tensor"):
        return
    param.is_a("tensor", where)
    sizes = _sizes(node, made)
    if whole and sizes and param.tensor.shape.set_rank(len(sizes)):
        param.tensor.why = where
        for at, size in enumerate(sizes):
            param.tensor.shape.dim(at).merge(Size(value=size, exact=True))
    dtype = next((ast.unparse(k.value) for k in node.keywords if k.arg == "dtype"), "")
    if dtype.startswith("torch."):
        param.tensor.dtype.set(dtype.removeprefix("torch."), where)
    elif name == "randint":
        param.tensor.dtype.set("int64", where)


def _number(node: ast.expr, made: dict[str, ast.expr], depth: int = 4) -> int | float | str | bool | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, bool)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, made, depth)
        return -inner if isinstance(inner, (int, float)) else None
    if isinstance(node, ast.Name) and node.id in made and depth:
        return _number(made[node.id], made, depth - 1)
    return None

"""Whether a program hangs together, told without the server's own reading: its names by symtable, its calls by binding signatures."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator

#: What a launch takes besides the kernel's parameters.
OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "grid", "warmup"}
BUILTINS = set(dir(builtins)) | {"__file__", "__name__"}


def faults(text: str) -> list[str]:
    """What is wrong with it; nothing where it hangs together."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return [f"doesn't parse: {error}"]
    return [*_unbound(text), *_misused(tree)]


def _unbound(text: str) -> Iterator[str]:
    module = symtable.symtable(text, "text", "exec")
    bound = {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    stack = [module]
    while stack:
        table = stack.pop()
        stack += table.get_children()
        for symbol in table.get_symbols():
            name = symbol.get_name()
            is_global = symbol.is_global() or table is module
            if symbol.is_referenced() and is_global and name not in bound | BUILTINS:
                yield f"{name} in {table.get_name()} isn't bound"


def _misused(tree: ast.Module) -> Iterator[str]:
    defined = {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)}
    methods = {f.name for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body if isinstance(f, ast.FunctionDef)}
    for call in (c for c in ast.walk(tree) if isinstance(c, ast.Call)):
        launch = isinstance(call.func, ast.Subscript)
        named = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        if isinstance(named, ast.Name) and named.id in defined and named.id not in methods:
            yield from _unbindable(defined[named.id], call, launch=launch)


def _unbindable(function: ast.FunctionDef, call: ast.Call, *, launch: bool) -> Iterator[str]:
    given = function.args
    positional = [a.arg for a in (*given.posonlyargs, *given.args)]
    names = [*positional, *(a.arg for a in given.kwonlyargs)]
    optional = set(positional[len(positional) - len(given.defaults) :])
    optional |= {a.arg for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None}
    config = set(_config(function)) if launch else set()
    keys = [k.arg for k in call.keywords]
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    where = f"line {call.lineno}: {function.name}"
    passed = [] if starred else positional[: len(call.args)]
    if not starred and len(call.args) > len(positional) and given.vararg is None:
        yield f"{where} takes {len(positional)} arguments, not {len(call.args)}"
    for key in keys:
        if key is not None and key not in names and given.kwarg is None and not (launch and key in OPTIONS):
            yield f"{where} has no parameter {key}"
        if key in passed or (key in config and key not in OPTIONS):
            yield f"{where} gets {key} twice"
    missing = set(names) - optional - set(passed) - set(keys) - config
    if missing and not starred and None not in keys:
        yield f"{where} lacks {sorted(missing)}"


def _config(function: ast.FunctionDef) -> Iterator[str]:
    """Parameters that its decorators give."""
    for node in (n for d in function.decorator_list for n in ast.walk(d) if isinstance(n, ast.Call)):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("Config", "heuristics"):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Dict):
                    yield from (str(k.value) for k in argument.keys if isinstance(k, ast.Constant))

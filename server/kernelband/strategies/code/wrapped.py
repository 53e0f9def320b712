"""Helpers that only ask for the program's id: ``pid(0)`` for ``tl.program_id(0).to(tl.int64)``."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.module import FunctionNode, Module
from kernelband.strategies.code.names import of_language, origins

CASTS = frozenset({"to", "cast"})


def wrapped_ids(program: Program, modules: Mapping[str, Module]) -> frozenset[str]:
    """How the kernel's module spells such helpers: "tle.program_id"."""
    place = program.kernel.place
    module = modules.get(place.path)
    node = module.function(place.qualname) if module is not None else None
    if module is None or node is None:
        return frozenset()
    found: set[str] = set()
    for helper in program.helpers:
        its = modules.get(helper.place.path)
        function = its.function(helper.place.qualname) if its is not None else None
        if its is not None and function is not None and asks_only(its, function):
            found |= {ast.unparse(c.func) for c in _calls_of(module, node, helper.place.name, helper.place.path)}
    return frozenset(found)


def helpers_ask(program: Program, modules: Mapping[str, Module], names: Collection[str]) -> bool:
    """Whether a helper names one of these functions of the language, or may: its text isn't known."""
    for helper in program.helpers:
        its = modules.get(helper.place.path)
        function = its.function(helper.place.qualname) if its is not None else None
        if function is None or any(named(n) in names for n in all_nodes(function)):
            return True
    return False


def named(node: ast.AST) -> str:
    """The last part of a name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def asks_only(module: Module, function: FunctionNode) -> bool:
    """Whether the function returns the id of the program along the axis that it is given, cast to another integer or not."""
    given = [a.arg for a in function.args.args]
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match body:
        case [ast.Return(value=ast.Call() as value)]:
            if isinstance(value.func, ast.Attribute) and value.func.attr in CASTS and isinstance(value.func.value, ast.Call):
                value = value.func.value
        case _:
            return False
    asked = of_language(origins(module.parents, value.func, frozenset(given))) == "program_id"
    return asked and len(given) == 1 and [ast.unparse(a) for a in (*value.args, *(k.value for k in value.keywords))] == given


def _calls_of(module: Module, node: FunctionNode, name: str, path: str) -> Iterator[ast.Call]:
    """Calls in the kernel that mean the function ``name`` of the file."""
    for call in (n for n in all_nodes(node) if isinstance(n, ast.Call)):
        match call.func:
            case ast.Name(id=called):
                here = path == module.path and called == name and called not in module.imported
                dotted = [] if here else [*origins(module.parents, call.func, frozenset[str]())]
            case ast.Attribute(attr=called) if called == name:
                here, dotted = False, [*origins(module.parents, call.func, frozenset[str]())]
            case _:
                continue
        if here or (dotted and all(d.split(".")[-2:] == [Path(path).stem, name] for d in dotted)):
            yield call

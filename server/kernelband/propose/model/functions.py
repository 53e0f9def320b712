"""The functions that a model may rewrite, and what their own text names: the measure of what it may name."""

from __future__ import annotations

import ast
import symtable
import sys
import warnings
from collections import Counter
from functools import lru_cache
from pathlib import PurePath

from attrs import frozen

from kernelband.source.model import Place, Program, Span
from kernelband.source.syntax import all_nodes, syntax_tree
from kernelband.source.tree import BOM, line_column


class Unreadable(ValueError):
    """A text that this Python can't parse; the message is the parser's."""


@frozen
class Editable:
    """A function that may be rewritten. ``label`` is what a model calls it: the qualname, with the file's name where two share it."""

    label: str
    place: Place
    span: Span  # decorators and body
    device: bool  # a kernel or helper; else a host function


def editables(program: Program) -> tuple[Editable, ...]:
    """Kernel, helpers and host functions, in this order; what stands at module level isn't a function."""
    jit = [(k.place, k.span, True) for k in (program.kernel, *program.helpers)]
    hosts = [(h.place, h.span, False) for h in program.hosts if h.kind != "module"]
    unique = {place: (span, device) for place, span, device in [*jit, *hosts]}
    often = Counter(place.qualname for place in unique)
    return tuple(
        Editable(
            place.qualname if often[place.qualname] == 1 else f"{PurePath(place.path).name}::{place.qualname}",
            place,
            span,
            device,
        )
        for place, (span, device) in unique.items()
    )


def indentation(text: str, span: Span) -> str:
    """The blanks before a function's first line."""
    column = line_column(text, span.start)[1]
    return text[span.start - column : span.start]


def parsed(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        Unreadable: it isn't Python, as far as this Python can tell.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return syntax_tree(text.removeprefix(BOM))
        except SyntaxError as error:
            raise Unreadable(f"line {error.lineno or 1}: {error.msg}") from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unreadable(str(error) or type(error).__name__) from error


def body_of(text: str, indent: str) -> ast.Module:
    """The tree of a function's text that stands ``indent`` deep.

    Raises:
        Unreadable: as ``parsed``.
    """
    tree = parsed(wrapped(text, indent))
    inside = tree.body[0] if indent else None
    return ast.Module(inside.body, []) if isinstance(inside, ast.If) else tree


def wrapped(text: str, indent: str) -> str:
    """The text as a module of its own."""
    return f"if 1:\n{indent}{text}" if indent else text


@frozen
class Uses:
    """What a text names. ``chains``: dotted names that begin at a global, as written, whole. ``attributes``: after any dot."""

    globals: frozenset[str]
    locals: frozenset[str]
    chains: frozenset[str]
    attributes: frozenset[str]
    stores: frozenset[str]  # attributes that are assigned to
    nodes: frozenset[str]  # dumps of calls
    kinds: frozenset[type[ast.AST]]
    keywords: frozenset[str]


def uses(text: str, indent: str) -> Uses:
    """What a function's text names, by Python's own rules of scope.

    Raises:
        Unreadable: it isn't Python, or the compiler refuses it (``nonlocal`` of nothing, say).
    """
    tree = body_of(text, indent)
    globals_, locals_ = _scopes(wrapped(text, indent))
    nodes = list(all_nodes(tree))
    attributes = [n for n in nodes if isinstance(n, ast.Attribute)]
    inner = {id(n.value) for n in attributes}
    whole = [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and id(n) not in inner]
    chains = {c for n in whole if (c := chain(n)).partition(".")[0] in globals_}
    return Uses(
        globals=frozenset(globals_),
        locals=frozenset(locals_),
        chains=frozenset(chains),
        attributes=frozenset(n.attr for n in attributes),
        stores=frozenset(n.attr for n in attributes if not isinstance(n.ctx, ast.Load)),
        nodes=frozenset(ast.dump(n) for n in nodes if isinstance(n, ast.Call)),
        kinds=frozenset(type(n) for n in nodes),
        keywords=frozenset(n.arg for n in nodes if isinstance(n, ast.keyword) and n.arg is not None),
    )


def chain(node: ast.expr) -> str:
    """``a.b.c`` of names and attributes; nothing for another expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _scopes(text: str) -> tuple[set[str], set[str]]:
    """Names that mean something outside of the functions, and names that the functions bind."""
    try:
        top = symtable.symtable(text, "variant", "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    globals_ = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    locals_: set[str] = set()
    left = list(top.get_children())
    while left:
        table = left.pop()
        left += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global():
                globals_.add(symbol.get_name())
            elif symbol.is_local() or symbol.is_parameter():
                locals_.add(symbol.get_name())
    return globals_, locals_


@frozen
class Around:
    """What a file gives to its functions: ``imports`` by name as dotted, ``bound``: every name of its top level.

    ``plain``: of those, the ones that hold no memory: numbers and texts that are written down, modules of torch, Triton and Python.
    """

    imports: dict[str, str]
    bound: frozenset[str]
    plain: frozenset[str]
    lines: tuple[str, ...]  # the import statements, for a prompt


@lru_cache(maxsize=64)
def around(text: str) -> Around:
    """The top level of a file, also inside ``if`` and ``try``. A name that is imported as two things is nothing known.

    Raises:
        Unreadable: as ``parsed``.
    """
    tree = parsed(text)
    found: dict[str, set[str]] = {}
    bound: set[str] = set()
    lines: list[str] = []
    left: list[ast.AST] = list(reversed(tree.body))
    while left:
        node = left.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            lines.append(ast.unparse(node))
            origin = f"{'.' * node.level}{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                whole = alias.asname is not None or isinstance(node, ast.ImportFrom)
                name = alias.asname or alias.name.partition(".")[0]
                found.setdefault(name, set()).add(origin + alias.name if whole else name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        left += reversed(list(ast.iter_child_nodes(node)))
    imports = {name: meanings.pop() for name, meanings in found.items() if len(meanings) == 1 and name not in bound}
    modules = {n for n, meaning in imports.items() if meaning.partition(".")[0] in sys.stdlib_module_names | {"torch", "triton"}}
    return Around(imports, frozenset(bound | set(found)), frozenset(modules | _constants(tree)), tuple(lines))


def _constants(tree: ast.Module) -> set[str]:
    """Names that the file's own statements bind once, to numbers and texts only."""
    often = Counter(n.id for n in all_nodes(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    written = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Name, ast.expr_context, ast.operator, ast.unaryop)
    found: set[str] = set()
    for node in (n for n in tree.body if isinstance(n, ast.Assign)):
        names = [t.id for t in node.targets if isinstance(t, ast.Name) and often[t.id] == 1]
        parts = list(all_nodes(node.value))
        if all(isinstance(p, written) and (not isinstance(p, ast.Name) or p.id in found) for p in parts):
            found |= set(names)
    return found

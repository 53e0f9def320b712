"""What one function may name: worked out once from the user's own text, before anything that a model wrote is looked at."""

from __future__ import annotations

import ast
from functools import reduce
from typing import Literal

from attrs import fields, frozen

from kernelband.propose.model import allowed
from kernelband.propose.model.functions import Around, Editable, Unreadable, Uses, around, body_of, indentation, uses
from kernelband.propose.model.pointers import accesses, numbers
from kernelband.propose.model.values import Root, Values, values
from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes, expression_tree

Kind = Literal["form", "name", "state", "memory", "sizes"]


class Refused(ValueError):
    """What was written can't be used; the message says why, to people and to the model.

    ``kind``: "form" isn't what was asked for; "name" uses what isn't on a list; "state" keeps something beyond the call, or writes what
    the original doesn't; "memory" depends on memory that nothing of it wrote, or on where memory lies; "sizes" is made for single sizes.
    """

    def __init__(self, message: str, kind: Kind = "form") -> None:
        super().__init__(message)
        self.kind: Kind = kind


@frozen
class Rules:
    """What holds for one function: the function as it is, and what it may name."""

    editable: Editable
    before: ast.FunctionDef
    own: Uses  # of the function itself
    program: Uses  # of all functions of its file that may be rewritten
    around: Around
    kernels: frozenset[str]  # names of jit functions
    names: frozenset[str]  # of functions that may be rewritten, in the same file
    options: frozenset[str]  # of launches and configurations
    outputs: frozenset[Root]  # what the host function's own launches store to

    @property
    def attributes(self) -> frozenset[str]:
        known = allowed.KERNEL_ATTRIBUTES if self.editable.device else allowed.HOST_ATTRIBUTES
        return known | frozenset(a for a in self.program.attributes if not is_dunder(a))


def rules(program: Program, editable: Editable, every: tuple[Editable, ...]) -> Rules:
    """The rules for a function of a program.

    Raises:
        Refused: this Python can't read the file, so nothing can be checked.
    """
    text = program.texts[editable.place.path]
    here = [e for e in every if e.place.path == editable.place.path]
    try:
        own = {e.label: uses(_text(text, e), indentation(text, e.span)) for e in here}
        before = _function(program, editable)
        known = around(text)
        its = values(before, own[editable.label].globals, known)
        outputs = frozenset[Root]() if editable.device else _outputs(program, editable, every, its)
    except Unreadable as error:
        raise Refused(f"{editable.label} can't be checked by this Python: {error}.") from error
    jit = (program.kernel, *program.helpers)
    parameters = {p.name for k in jit for p in k.parameters}
    merged = reduce(_merge, own.values())
    return Rules(
        editable,
        before,
        own[editable.label],
        merged,
        known,
        kernels=frozenset(k.place.name for k in jit),
        names=frozenset(e.place.name for e in here if "." not in e.place.qualname),
        options=allowed.OPTIONS | merged.keywords | parameters,
        outputs=outputs,
    )


def _outputs(program: Program, host: Editable, every: tuple[Editable, ...], its: Values) -> frozenset[Root]:
    """What the launches of a host function store to, by what its kernels' texts say."""
    stored: dict[str, set[str]] = {}
    for kernel in (e for e in every if e.device):
        text = program.texts[kernel.place.path]
        inside = values(_function(program, kernel), uses(_text(text, kernel), indentation(text, kernel.span)).globals, around(text))
        names = frozenset(e.place.name for e in every if e.device)
        stored[kernel.place.name] = {a.parameter for a in accesses(inside, names) if a.how != "loads"} - numbers(inside)
    found: set[Root] = set()
    for launch in (x for h in program.hosts if h.place == host.place for x in h.launches):
        given = [a.text for name, a in launch.arguments.items() if name in stored.get(launch.kernel.name, ())]
        found |= {r for g in given for r in its.roots(expression_tree(g.strip()).body)}
    return frozenset(found)


def _function(program: Program, editable: Editable) -> ast.FunctionDef:
    text = program.texts[editable.place.path]
    return function_of(body_of(_text(text, editable), indentation(text, editable.span)), editable)


def _text(text: str, editable: Editable) -> str:
    return text[editable.span.start : editable.span.end]


def _merge(one: Uses, other: Uses) -> Uses:
    return Uses(**{a.name: getattr(one, a.name) | getattr(other, a.name) for a in fields(Uses)})


def function_of(tree: ast.Module, editable: Editable) -> ast.FunctionDef:
    """The one function of a block's tree.

    Raises:
        Refused: it holds something else.
    """
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise Refused(f"The block for {editable.label} must hold that function and nothing else: no imports, no constants beside it.")
    if tree.body[0].name != editable.place.name:
        raise Refused(f"The block for {editable.label} defines {tree.body[0].name}: a function keeps its name.")
    return tree.body[0]


def refusal(editable: Editable, node: ast.AST, why: str, kind: Kind, first: int) -> Refused:
    """The refusal that names the line as the model counts it; ``first``: lines before the function's own in its tree."""
    line = getattr(node, "lineno", 0) - first
    return Refused(f"{editable.label}, line {line}: {why}." if line > 0 else f"{editable.label}: {why}.", kind)


def is_dunder(name: str) -> bool:
    """Whether it is one of Python's own names, or would like to be."""
    return name.startswith("__")


@frozen(eq=False)
class Change:
    """A function as it is and as it would be."""

    rules: Rules
    before: Values
    after: Values
    first: int  # lines before the function's own in its tree

    def refused(self, node: ast.AST, why: str, kind: Kind) -> Refused:
        """The refusal of a part of the function."""
        return refusal(self.rules.editable, node, why, kind, self.first)

    def nodes(self) -> list[ast.AST]:
        """Every node of the function as it would be, with what stands before it."""
        return all_nodes(self.after.function)

    def as_before(self, node: ast.AST) -> bool:
        """Whether the original has this text, and its names stand for no other memory than there."""
        return self.after.key(node) in self.before.texts and all(
            owners(self.after.roots(n)) <= owners(self.before.roots(n)) for n in all_nodes(node) if isinstance(n, ast.Name)
        )

    def tensors(self) -> frozenset[str]:
        """Parameters that are tensors, by how they are used in either text."""
        found: set[str] = set()
        for side in (self.before, self.after):
            for node in all_nodes(side.function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in allowed.OF_TENSORS:
                    found |= {r.name for r in side.roots(node.value) if r.kind == "parameter"}
        return frozenset(found)


def launches(side: Values) -> list[ast.Call]:
    """``kernel[grid](...)``, ``kernel.run(...)`` and what was compiled ahead and is called."""
    return [n for n in all_nodes(side.function) if isinstance(n, ast.Call) and _starts(side, n.func)]


def _starts(side: Values, called: ast.expr) -> bool:
    base = side.resolved(called)
    if isinstance(base, ast.Subscript):
        return True
    return isinstance(base, ast.Attribute) and base.attr in ("run", "warmup") and bool(owners(side.roots(base.value)))


def owners(roots: frozenset[Root]) -> frozenset[tuple[str, str]]:
    """Roots without the places of allocations: another allocation than before is the function's own as well."""
    return frozenset((r.kind, r.name if r.outlives else "") for r in roots)

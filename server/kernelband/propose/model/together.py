"""What the functions of an answer do with each other: each may be right for itself, and between them state is kept all the same.

A kernel may store to parameters of its own, and a host function may hand to a kernel what it did before: a parameter of another name in the
place of one that was only loaded would keep state there. So every launch is looked at with the kernels as they would be, and stores to no
more of others' memory than before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from attrs import frozen

from kernelband.propose.model.functions import Editable, uses
from kernelband.propose.model.gate import check
from kernelband.propose.model.pointers import accesses, numbers
from kernelband.propose.model.rules import Refused, launches, refusal, rules
from kernelband.propose.model.values import Root, Values, values
from kernelband.source.model import Program


@frozen
class _Function:
    """A function of the program: as it is, and as it would be (the same where nothing is written for it). ``first``: as of ``Change``."""

    editable: Editable
    before: Values
    after: Values
    written: bool
    first: int


@frozen
class _Kernel:
    """Parameters in their order, and those that it stores to, by itself or by what it hands them to."""

    name: str
    parameters: tuple[str, ...]
    stored: frozenset[str]


def check_together(program: Program, every: tuple[Editable, ...], blocks: Mapping[str, tuple[str, str]]) -> dict[str, ast.FunctionDef]:
    """The functions that these blocks define, by label, if each may stand where it would, and all of them beside each other.

    Args:
        program: as it is.
        every: the functions of it that may be rewritten.
        blocks: text and indentation by label.

    Raises:
        Refused: they may not.
    """
    found: dict[str, ast.FunctionDef] = {}
    functions: list[_Function] = []
    for editable in every:
        own = rules(program, editable, every)
        before = values(own.before, own.own.globals, own.around)
        if editable.label not in blocks:
            functions.append(_Function(editable, before, before, written=False, first=0))
            continue
        text, indent = blocks[editable.label]
        function = found[editable.label] = check(own, text, indent)
        after = values(function, uses(text, indent).globals, own.around)
        functions.append(_Function(editable, before, after, written=True, first=1 if indent else 0))
    _look(functions)
    return found


def _look(functions: list[_Function]) -> None:
    old, new = (_kernels([(f.editable.place.name, side(f)) for f in functions if f.editable.device]) for side in (_before, _after))
    for function in (f for f in functions if not f.editable.device):
        known = {r for launch in launches(function.before) for r in _stored(function.before, launch, old)}
        for launch in launches(function.after):
            lasting = {r for r in _stored(function.after, launch, new) if r.outlives} - known
            if lasting:
                raise _refused(function, launch, min(r.name for r in lasting))


def _before(function: _Function) -> Values:
    return function.before


def _after(function: _Function) -> Values:
    return function.after


def _kernels(every: list[tuple[str, Values]]) -> list[_Kernel]:
    names = frozenset(name for name, _ in every)
    found = [(name, side, accesses(side, names)) for name, side in every]
    storing = {name for name, _, of in found if any(a.how == "stores" for a in of)}
    for _ in found:  # what hands something to one that stores stores, too
        storing |= {name for name, _, of in found if any(_last(a.to) in storing for a in of)}
    out: list[_Kernel] = []
    for name, side, of in found:
        through = {a.parameter for a in of if a.how == "stores" or (a.how == "hands on" and _last(a.to) in storing)}
        out.append(_Kernel(name, _parameters(side), frozenset(through - numbers(side))))
    return out


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def _parameters(side: Values) -> tuple[str, ...]:
    a = side.function.args
    return tuple(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs))


def _stored(side: Values, launch: ast.Call, kernels: list[_Kernel]) -> Iterator[Root]:
    """Whose memory a launch stores to: of every kernel that it may be of."""
    for kernel in _launched(side, launch, kernels):
        for parameter, argument in _given(side, launch, kernel):
            if parameter is None or parameter in kernel.stored:
                yield from side.roots(argument)


def _launched(side: Values, launch: ast.Call, kernels: list[_Kernel]) -> list[_Kernel]:
    names = {n.id for n in _behind(side, launch.func) if isinstance(n, ast.Name)}
    return [k for k in kernels if k.name in names] or kernels


def _behind(side: Values, node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression, and of what its names are bound to."""
    seen: set[str] = set()
    left: list[ast.AST] = [node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else node]
    while left:
        part = left.pop()
        yield part
        if isinstance(part, ast.Name) and part.id not in seen:
            seen.add(part.id)
            left += side.bound.get(part.id, ())
        left += ast.iter_child_nodes(part)


def _given(side: Values, launch: ast.Call, kernel: _Kernel) -> Iterator[tuple[str | None, ast.expr]]:
    """Arguments by parameter; None where a starred one hides which it is."""
    arguments = [part for a in launch.args for part in _unpacked(side, a)]
    plain = not any(isinstance(a, ast.Starred) for a in arguments)
    for at, argument in enumerate(arguments):
        if not plain or at < len(kernel.parameters):
            yield kernel.parameters[at] if plain else None, argument
    for keyword in launch.keywords:
        yield keyword.arg, keyword.value


def _unpacked(side: Values, node: ast.expr) -> list[ast.expr]:
    """``*(x, y)``, also by a name, as its parts."""
    whole = side.resolved(node.value) if isinstance(node, ast.Starred) else None
    return whole.elts if isinstance(whole, (ast.Tuple, ast.List)) else [node]


def _refused(function: _Function, launch: ast.Call, name: str) -> Refused:
    why = f"its launch stores to {name}, which the original doesn't: nothing may outlive a call"
    if function.written:
        return refusal(function.editable, launch, why, "state", function.first)
    return Refused(f"{function.editable.label}, as it is: {why}. A kernel's pointers keep their names and roles.", "state")

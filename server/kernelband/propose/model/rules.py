"""What one function may name: worked out once from the user's own text, before anything that a model wrote is looked at."""

from __future__ import annotations

import ast
from functools import reduce

from attrs import frozen

from kernelband.propose.model import allowed
from kernelband.propose.model.functions import Around, Editable, Unreadable, Uses, around, body_of, indentation, uses
from kernelband.source.model import Program


class Refused(ValueError):
    """What was written can't be used; the message says why, to people and to the model."""


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
        before = function_of(body_of(_text(text, editable), indentation(text, editable.span)), editable)
        known = around(text)
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
    )


def _text(text: str, editable: Editable) -> str:
    return text[editable.span.start : editable.span.end]


def _merge(one: Uses, other: Uses) -> Uses:
    return Uses(
        one.globals | other.globals,
        one.locals | other.locals,
        one.chains | other.chains,
        one.attributes | other.attributes,
        one.stores | other.stores,
        one.nodes | other.nodes,
        one.kinds | other.kinds,
        one.keywords | other.keywords,
    )


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


def is_dunder(name: str) -> bool:
    """Whether it is one of Python's own names, or would like to be."""
    return name.startswith("__")

"""What a strategy is: a card that says what it does, and moves that do it.

A move is a small rewrite of the user's text with a precondition that is read from facts. It yields every proposal that it can make
of a program, the most promising first, in a fixed order: same program, same facts, same proposals. Proposals of a structural move are
already combined with a few launch parameters where those decide whether it pays ("tuned inside its own arm").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

from attrs import field, frozen

from kernelband.hardware import Device
from kernelband.source.model import Patch, Program
from kernelband_worker.wire import Case, CompileFacts, Numerics

Resource = Literal["sm", "dram", "l2"]


@frozen
class Card:
    """Shown to people and, later, given to a model: why one would pull this arm."""

    name: str
    target: Resource  # the resource whose use it raises (notes: tiling->l2, pipeline->sm ...)
    what: str
    when: str
    why: str


@frozen
class Facts:
    """What preconditions may read. Everything is of the program at hand (the parent), not of the original.

    ``compiled`` holds the facts of the program's own launches on ``device``, ``constants`` the constexprs that they give the kernel, each
    set of them once. They may be empty when nothing is known yet. ``others``: kernels that the same calls launch and that are searched with
    this one.
    """

    device: Device
    cases: tuple[Case, ...]
    compiled: tuple[CompileFacts, ...] = ()
    triton: tuple[int, int] = (3, 6)
    allowed: frozenset[Numerics] = frozenset({"exact", "reassociates"})
    constants: tuple[dict[str, Any], ...] = ()
    others: tuple[Other, ...] = ()


@frozen
class Other:
    """Another kernel of the same calls, with its own facts; ``share``: about how much of them it has."""

    program: Program
    facts: Facts
    share: float


@frozen
class Proposal:
    """One edit that a move would make of a program."""

    strategy: str
    move: str
    parameters: dict[str, Any]  # JSON; with (parent, move) it names the proposal: each is made once
    patch: Patch = field(repr=False)  # relative to the program's texts
    numerics: Numerics
    what: str  # one sentence: what the edit changes ("BLOCK_M 32→128 and num_warps 4→8, with the grid")
    why: str  # one sentence: which fact made it worth trying

    @property
    def key(self) -> str:
        """Move and parameters as one string, stable over runs."""
        inside = ",".join(f"{k}={self.parameters[k]}" for k in sorted(self.parameters))
        return f"{self.strategy}.{self.move}({inside})"


class Move(Protocol):
    """A rewrite. ``name`` is unique within its strategy."""

    name: str

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        """Every proposal for ``program``; nothing when the precondition does not hold. Never raises on odd source: it yields nothing."""
        ...


@frozen
class Strategy:
    """A card and its moves."""

    card: Card
    moves: tuple[Move, ...]

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        """The proposals of all moves, in the order of the moves; numerics that are not allowed left out."""
        for move in self.moves:
            for proposal in move.propose(program, facts):
                if proposal.numerics in facts.allowed:
                    yield proposal

"""What an author is: given a program, a strategy and facts, it writes variants."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Protocol, runtime_checkable

from attrs import field, frozen

from kernelband.source.model import Program
from kernelband.strategies import Facts, Proposal

#: What authors that are models are called in history: this, and the model's name.
MODEL = "model "
#: Outcomes of a trial (search._base.Pull) that its author could mend.
MENDABLE = frozenset({"compile_error", "wrong", "nondeterministic", "crashed"})


@frozen
class Draft:
    """What an author had to say.

    ``exhausted``: nothing is left for this program and strategy beyond these proposals. ``refused`` tells, for each thing that was written
    and thrown away, why: for the run's log, and for a model's next turn. ``enough``: asking again at once isn't worth its price while any
    of these proposals compiles. ``authors``: by proposal key, who wrote it, where that isn't the author who was asked.
    """

    proposals: tuple[Proposal, ...]
    exhausted: bool
    refused: tuple[str, ...] = ()
    enough: bool = False
    authors: Mapping[str, str] = field(factory=dict[str, str])


class Author(Protocol):
    """Writes variants. ``name`` is what history keeps as a variant's author; one that is not ``free`` is asked for chosen arms only."""

    @property
    def name(self) -> str: ...

    @property
    def free(self) -> bool: ...

    def write(self, program: Program, strategy: str, facts: Facts, already: Set[str], limit: int) -> Draft:
        """Up to ``limit`` proposals for ``program`` whose keys are not in ``already``, the most promising first.

        Raises:
            KeyError: there is no such strategy.
        """
        ...


@frozen
class Tried:
    """What became of a proposal. ``outcome``: of its pull (search._base); ``reason``: the exact error, where there was one."""

    key: str
    what: str
    outcome: str
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether it says something about what was written, not only about its speed."""
        return self.outcome in MENDABLE or self.outcome in ("timeout", "oom", "rejected")


@frozen
class Story:
    """How a program came to be (what each edit from the original on did), and what was tried from it, oldest first."""

    lineage: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = ()


@runtime_checkable
class Informed(Protocol):
    """An author that wants to know: it is told the story of a program right before it is asked to write for it."""

    def inform(self, story: Story) -> None: ...


def is_model(author: str) -> bool:
    """Whether a variant of this author was written by a model: then it runs in executors of its own."""
    return author.startswith(MODEL)

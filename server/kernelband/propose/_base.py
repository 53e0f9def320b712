"""What an author is: given a program, a strategy and facts, it writes variants."""

from __future__ import annotations

from collections.abc import Set
from typing import Protocol

from attrs import frozen

from kernelband.source.model import Program
from kernelband.strategies import Facts, Proposal


@frozen
class Draft:
    """What an author had to say.

    ``exhausted``: nothing is left for this program and strategy beyond these proposals. ``refused`` tells, for each thing that was written
    and thrown away, why: for the run's log, and for a model's next turn.
    """

    proposals: tuple[Proposal, ...]
    exhausted: bool
    refused: tuple[str, ...] = ()


class Author(Protocol):
    """Writes variants. ``name`` is what history keeps as a variant's author."""

    name: str

    def write(self, program: Program, strategy: str, facts: Facts, already: Set[str], limit: int) -> Draft:
        """Up to ``limit`` proposals for ``program`` whose keys are not in ``already``, the most promising first.

        Raises:
            KeyError: there is no such strategy.
        """
        ...

"""Two authors for one run: the model's variants and the rewriter's, side by side in each arm."""

from __future__ import annotations

from collections.abc import Set

from attrs import define

from kernelband.propose._base import Draft, Story
from kernelband.propose.model import ModelAuthor
from kernelband.propose.rewriter import Rewriter
from kernelband.source.model import Program
from kernelband.strategies import Facts


@define
class Both:
    """The model is asked first; whatever becomes of that, the rewriter's moves are there."""

    model: ModelAuthor
    rewriter: Rewriter

    @property
    def free(self) -> bool:
        """The model isn't."""
        return False

    @property
    def name(self) -> str:
        return self.rewriter.name

    def inform(self, story: Story) -> None:
        """Only a model listens."""
        self.model.inform(story)

    def write(self, program: Program, strategy: str, facts: Facts, already: Set[str], limit: int) -> Draft:
        """Proposals of both, the model's first."""
        one = self.model.write(program, strategy, facts, already, limit)
        two = self.rewriter.write(program, strategy, facts, already, limit)
        return Draft(
            (*one.proposals, *two.proposals),
            one.exhausted and two.exhausted,
            (*one.refused, *two.refused),
            enough=bool(one.proposals),
            authors={p.key: self.model.name for p in one.proposals},
        )

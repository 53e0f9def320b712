"""A proposal on its way: written, specialised, compiled, ranked; not executed yet."""

from __future__ import annotations

from attrs import define, field

from kernelband.hardware.forecast import Forecast
from kernelband.hardware.work import Work
from kernelband.judge.identity import Identity
from kernelband.propose import is_model
from kernelband.search.profile import Traffic
from kernelband.source.model import Patch
from kernelband.strategies import Proposal
from kernelband_worker.wire import CompileFacts, SpecialiseResult, VariantFiles


@define(eq=False)
class Candidate:
    """``patch`` is relative to the run's base texts, the proposal's own is relative to its parent.

    ``problem`` is the compiler's sentence when it did not compile; ``forecast`` what is expected of it, None while unknown.
    """

    parent: int
    author: str
    proposal: Proposal
    patch: Patch = field(repr=False)
    texts: dict[str, str] = field(repr=False)
    files: VariantFiles = field(repr=False)
    specialised: SpecialiseResult | None = field(default=None, repr=False)
    facts: dict[str, CompileFacts] = field(factory=dict[str, CompileFacts], repr=False)
    identity: Identity | None = field(default=None, repr=False)
    forecast: Forecast | None = None
    traffic: Traffic | None = field(default=None, repr=False)  # counted by the interpreter on the cases that the forecast is about
    gains: tuple[str, ...] = ()  # facts that became better than the original's, the largest first
    costs: tuple[str, ...] = ()  # and those that became worse
    works: tuple[Work, ...] | None = field(default=None, repr=False)  # its launches, as far as they are known
    step: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # gains and costs against its parent; None: the original, or not known
    problem: str = ""
    executed: bool = False
    strange: bool = False  # a parent's edits are a model's

    @property
    def isolated(self) -> bool:
        """Whether it is run in executors of its own: a model wrote it, or edits on the way to it."""
        return self.strange or is_model(self.author)

    @property
    def key(self) -> tuple[int, str]:
        """Each (parent, move, parameters) is proposed once."""
        return self.parent, self.proposal.key

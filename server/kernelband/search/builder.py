"""Trials from proposals: written for a parent, patched to the run's texts, compiled, ranked; each text and each program once."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from hashlib import sha256
from typing import cast

from attrs import define, evolve, field, frozen

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.hardware.forecast import Forecast
from kernelband.judge.faults import fault_of
from kernelband.judge.identity import identity
from kernelband.propose import Author, Informed, Story, Tried
from kernelband.search._lab import Built, Lab
from kernelband.search.profile import Profiler, Traffic
from kernelband.search.programs import Programs
from kernelband.search.trial import Trial, chain_of, constants_of
from kernelband.source import compose
from kernelband.strategies import Facts, Proposal
from kernelband_worker.wire import Case


@frozen
class Written:
    """What an author had for an arm, in its order; ``exhausted`` and ``enough`` as ``propose.Draft`` has them."""

    trials: tuple[Trial, ...] = ()
    exhausted: bool = True
    enough: bool = False


@define
class Builder:
    """Of one run. ``seen`` holds the keys that were proposed, by parent."""

    lab: Lab
    author: Author
    programs: Programs
    cases: tuple[Case, ...]
    profiler: Profiler
    facts: Callable[[int], Facts]  # of a parent
    seen: dict[int, set[str]] = field(factory=dict[int, set[str]])
    seconds: dict[str, float] = field(factory=dict[str, float])  # spent here, by step; beside the device
    _tried: dict[int, dict[str, Tried]] = field(factory=dict[int, dict[str, Tried]])  # by parent and key, for authors that learn
    _known: set[str] = field(factory=set[str])  # identities
    _texts: set[str] = field(factory=set[str])

    def __attrs_post_init__(self) -> None:
        self._texts.add(_digest(self.programs.base.texts))

    def know(self, name: str) -> None:
        """An identity that no trial may have again: the original's, and of what was executed before a resume."""
        if name:
            self._known.add(name)

    def tell(self, trial: Trial, outcome: str, reason: str = "") -> None:
        """What became of a proposal, for its author; said again, the later word counts."""
        found, key = self._tried.setdefault(trial.parent, {}), trial.proposal.key
        found.pop(key, None)
        found[key] = Tried(key, trial.proposal.what, outcome, reason)

    def propose(self, parent: int, strategy: str, limit: int) -> Written:
        """Up to ``limit`` proposals of an arm, none of which was made before."""
        start = time.monotonic()
        seen = self.seen.setdefault(parent, set())
        try:
            program = self.programs.program(parent)
        except KernelBandError:  # an edit took the kernel out of sight: nothing can be built on this parent
            return Written()
        if isinstance(self.author, Informed):
            lineage = tuple(t.proposal.what for t in chain_of(self.programs.trials, parent))
            self.author.inform(Story(lineage, tuple(self._tried.get(parent, {}).values())))
        draft = self.author.write(program, strategy, self.facts(parent), seen, limit)
        seen |= {p.key for p in draft.proposals}
        out = tuple(self.trial(parent, p, draft.authors.get(p.key, self.author.name)) for p in draft.proposals)
        self.spent("propose", start)
        return Written(out, exhausted=draft.exhausted or not draft.proposals, enough=draft.enough)

    def trial(self, parent: int, proposal: Proposal, author: str) -> Trial:
        """Of a proposal, with its patch to the run's base texts; nothing is compiled yet."""
        base = dict(self.programs.base.texts)
        patch = compose(self.programs.patch(parent), proposal.patch, base)
        texts = patch.apply(base)
        files = self.lab.keep(texts, [f.path for f in patch.files])
        out = Trial.of(self.programs.trials.get(parent), evolve(proposal, patch=patch), author, files)
        out.text = _digest(texts)
        return out

    def is_new(self, trial: Trial) -> bool:
        """Whether no other way led to the same text before: there and back again, say."""
        new = trial.text not in self._texts
        self._texts.add(trial.text)
        return new

    def begin(self, trial: Trial) -> Future[Built]:
        """Queue it for the compilers."""
        return self.lab.build(trial.files, self.cases)

    def build(self, trial: Trial) -> str:
        """Compile it while the caller waits; the outcome of a free failure, "" where there is none.

        Raises:
            KernelBandError: the worker is gone.
        """
        start = time.monotonic()
        job = self.begin(trial)
        wait([job])
        self.spent("compile", start)
        return self.finish(trial, job)

    def finish(self, trial: Trial, job: Future[Built]) -> str:
        """The outcome of a free failure; nothing when the trial may go to the device.

        Raises:
            KernelBandError: the worker is gone.
        """
        error = job.exception()
        if error is not None:
            if not isinstance(error, KernelBandError) or (fault_of(error) is None and not isinstance(error, ExecutorFault)):
                raise error
            trial.problem = error.message
            outcome = "oom" if fault_of(error) == "oom" else "compile_error"
            self.tell(trial, outcome, f"{error.message} {error.detail}".strip())
            return outcome
        trial.built = job.result()
        trial.facts = trial.built.facts
        trial.constants = constants_of(trial.launches)
        trial.identity = identity(trial.built.specialised, trial.facts, self.programs.base.kernel_names)
        if trial.identity in self._known:
            self.tell(trial, "duplicate")
            return "duplicate"
        self.know(trial.identity)
        trial.forecast = expected(self.lab, self.profiler, trial)
        return ""

    def spent(self, step: str, start: float) -> None:
        """Count the seconds since then."""
        self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - start


def expected(lab: Lab, profiler: Profiler, trial: Trial) -> Forecast:
    """The forecast of a trial that is compiled, from compile facts and traffic. Beside a GPU the lab has counted traffic when it compiled;
    in predicted mode, with few cores, only what is no duplicate is counted.
    """
    if trial.built is not None and trial.built.traffic is None and not lab.measured:
        trial.built = evolve(trial.built, traffic=_counted(lab, profiler, trial))
    return profiler.forecast(trial.launches, trial.facts, trial.built.traffic if trial.built is not None else None)


def _counted(lab: Lab, profiler: Profiler, trial: Trial) -> Traffic | None:
    try:
        return cast("Traffic", lab.count(trial.files, [c["id"] for c in profiler.cases]).result()["launches"])
    except KernelBandError as error:
        if error.kind == "lost":
            raise
        return None  # its check will say what is wrong with it


def _digest(texts: dict[str, str]) -> str:
    return sha256("\0".join(f"{path}\0{texts[path]}" for path in sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()

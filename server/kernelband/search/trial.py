"""One trial: what grows from an author's proposal to rows of the history, and comes back from them when a run is resumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import define, evolve, field

from kernelband.hardware.forecast import Forecast
from kernelband.hardware.work import Work
from kernelband.history.records import FactsRow, FinalRow, MeasurementRow, PullRow, TrialRow, VariantRow
from kernelband.history.trials import Rows
from kernelband.history.values import finite, loosest, works_to_json
from kernelband.judge.protocol import Measurement, Verdict
from kernelband.judge.result import Ratio, Result
from kernelband.propose import is_model
from kernelband.search._base import Member, Pull
from kernelband.search._lab import Built
from kernelband.source import patch_from_json, patch_to_json
from kernelband.source.model import Place
from kernelband.strategies import Proposal
from kernelband_worker.wire import CompileFacts, LaunchSpec, VariantFiles

#: Facts that became better, and facts that became worse; the largest first.
Moved = tuple[tuple[str, ...], tuple[str, ...]]
#: Constexprs of launches by kernel, each set of them once.
Constants = dict[Place, tuple[dict[str, Any], ...]]


@define(eq=False)
class Trial:
    """A variant from its proposal on: written, compiled, executed, kept. What isn't known yet has its default.

    ``parent`` and ``number`` are numbers of variants; 0 is the original, and of one that wasn't executed. The proposal's patch is relative
    to the run's base texts. ``edits``: how many there are between it and the original.
    """

    parent: int
    author: str
    proposal: Proposal
    files: VariantFiles = field(repr=False)
    strange: bool = False  # a parent's edits are a model's
    edits: int = 1
    text: str = field(default="", repr=False)  # a hash of its files

    built: Built | None = field(default=None, repr=False)
    facts: dict[str, CompileFacts] = field(factory=dict[str, CompileFacts], repr=False)  # what compiling said, by LaunchSpec key
    constants: Constants = field(factory=Constants)  # that its kernels are launched with
    identity: str = ""  # a name for its program (``judge.identity``)
    forecast: Forecast | None = None
    problem: str = ""  # the compiler's sentence when it did not compile

    number: int = 0
    outcome: str = ""  # its pull's
    works: tuple[Work, ...] | None = field(default=None, repr=False)  # its launches, as far as they are known
    moved: Moved = field(default=((), ()), repr=False)  # against the original
    moved_here: Moved | None = field(default=None, repr=False)  # against its parent; None: that is the original, or not known
    member: Member | None = field(default=None, repr=False)  # on the frontier; None: it can't be a parent
    score: float | None = None  # of screening
    cases: Mapping[str, Ratio] = field(factory=dict[str, Ratio], repr=False)  # screening by timing case, in the objective
    started: float = 0.0  # time of day
    seconds: float = 0.0  # that it took, everything included
    clock: dict[str, float] = field(factory=dict[str, float], repr=False)  # the same by span

    @classmethod
    def of(cls, parent: Trial | None, proposal: Proposal, author: str, files: VariantFiles) -> Trial:
        """A proposal for a parent, None for the original, with its patch to the run's base texts. A variant is of the loosest class that an
        edit on the way to it has.
        """
        if parent is not None:
            proposal = evolve(proposal, numerics=loosest([parent.proposal.numerics, proposal.numerics]))
        edits = (parent.edits if parent is not None else 0) + 1 + len(proposal.parameters.get("after", ()))
        strange = parent is not None and parent.isolated
        return cls(parent.number if parent is not None else 0, author, proposal, files, strange, edits=edits)

    @property
    def isolated(self) -> bool:
        """Whether it is run in executors of its own: a model wrote it, or edits on the way to it."""
        return self.strange or is_model(self.author)

    @property
    def arm(self) -> tuple[int, str]:
        """Parent and strategy."""
        return self.parent, self.proposal.strategy

    @property
    def launches(self) -> Sequence[LaunchSpec]:
        """What it launches on the cases."""
        return self.built.specialised["launches"] if self.built is not None else ()

    def pull(self, step: int, outcome: str) -> Pull:
        """For the policies' log, without rewards."""
        p, executed = self.proposal, self.number > 0
        return Pull(step, self.parent, p.strategy, self.number if executed else None, executed=executed, outcome=outcome, move=p.move)

    # ------------------------------------------------------------ rows

    def to_rows(self, run: str, verdict: Verdict, form: str | None, objective: str) -> Rows:
        """Everything of it but its pull; from the verdict the trial itself learns what screening said of each case."""
        result = verdict.result
        row = TrialRow(
            run=run,
            number=self.number,
            variant=self.number,
            correctness=result.correctness,
            performance=result.performance,
            fault=result.fault,
            integrity=result.integrity,
            reason=result.reason,
            **_score(result),
            result=finite(attrs.asdict(result)),
            started=self.started,
            seconds=self.seconds,
            clock=self.clock,
        )
        self.score, self.cases = result.score.value if result.score is not None else None, _ratios(row.result, objective)
        return Rows(
            variants=(self._variant_row(run, form),),
            trials=(row,),
            measurements=measurement_rows(run, self.number, "screening", verdict.measurements),
            facts=facts_rows(run, self.number, self.facts),
        )

    def _variant_row(self, run: str, form: str | None) -> VariantRow:
        p, said = self.proposal, attrs.asdict(self.forecast) if self.forecast is not None else {}
        said |= {"gains": list(self.moved[0]), "costs": list(self.moved[1])}
        if self.moved_here is not None:
            said |= {"parent_gains": list(self.moved_here[0]), "parent_costs": list(self.moved_here[1])}
        if self.works is not None:
            said |= {"launches": works_to_json(self.works)}
        return VariantRow(
            run=run,
            id=self.number,
            parent=self.parent,
            strategy=p.strategy,
            move=p.move,
            parameters=p.parameters,
            key=p.key,
            numerics=p.numerics,
            what=p.what,
            why=p.why,
            author=self.author,
            patch=patch_to_json(p.patch),
            identity=self.identity,
            forecast=said,
            form=form,
            **_member_columns(self.member),
        )

    @classmethod
    def from_rows(cls, row: VariantRow, said: TrialRow, parent: Trial | None, files: VariantFiles, objective: str) -> Trial:
        """The inverse, as far as a resumed run needs it; ``files`` as the lab keeps them now. Its outcome stands in its pull, and what its
        launches do (``works_of``) follows from its compile facts too.
        """
        proposal = Proposal(
            strategy=row.strategy,
            move=row.move,
            parameters=row.parameters,
            patch=patch_from_json(row.patch),
            numerics=row.numerics,  # pyright: ignore[reportArgumentType] - one of the literals, as written
            what=row.what,
            why=row.why,
        )
        out = cls.of(parent, proposal, row.author, files)
        out.number, out.identity, out.member = row.id, row.identity, member_of(row)
        out.score, out.seconds, out.cases = said.score, said.seconds, _ratios(said.result, objective)
        return out


def chain_of(trials: Mapping[int, Trial], number: int) -> list[Trial]:
    """From the first edit of the original to that variant."""
    out: list[Trial] = []
    while number:
        out.insert(0, trials[number])
        number = trials[number].parent
    return out


# ---------------------------------------------------------------- other rows


def original_row(
    run: str, member: Member, works: Sequence[Work] = (), out_of_bounds: Sequence[Mapping[str, Any]] = (), *, form: str | None
) -> VariantRow:
    """The original as variant 0, with its launches, and with the accesses out of bounds that the interpreter saw (``CaptureResult``)."""
    said = {"launches": works_to_json(works), "out_of_bounds": [dict(x) for x in out_of_bounds]}
    words = {"strategy": "", "move": "", "key": "", "numerics": "exact", "what": "the original", "why": "", "author": "you", "identity": ""}
    return VariantRow(run=run, id=0, parent=None, parameters={}, patch=[], forecast=said, form=form, **words, **_member_columns(member))


def member_of(row: VariantRow) -> Member | None:
    """The frontier's member that the row was; None when it wasn't on the frontier."""
    if row.seconds is None or row.mean_seconds is None or row.features is None:
        return None
    score = row.forecast.get("score")
    forecast = 1.0 if score is None else float(score)
    headroom = dict(row.headroom or {})
    return Member(row.id, row.seconds, tuple(row.features), headroom, forecast=forecast, mean_seconds=row.mean_seconds)


def final_row(run: str, number: int, verdict: Verdict) -> FinalRow:
    """What the final processes said, and under ``stress`` what they tried it with beside its cases."""
    result = verdict.result
    stress = verdict.check.get("stress", []) if verdict.check is not None else []
    said = finite(attrs.asdict(result)) | {"stress": finite(stress)}
    return FinalRow(run=run, variant=number, verified=result.verified, **_score(result), result=said, seconds=verdict.seconds)


def measurement_rows(run: str, variant: int, stage: str, found: Iterable[Measurement]) -> tuple[MeasurementRow, ...]:
    """Every pair."""
    shared = ("process", "method", "pair", "input_set", "original_us", "variant_us", "disturbed", "superseded")
    return tuple(
        MeasurementRow(
            run=run, variant=variant, stage=stage, case_id=m.case, kind=m.quantity, **{name: getattr(m, name) for name in shared}
        )
        for m in found
    )


def facts_rows(run: str, variant: int, facts: Mapping[str, CompileFacts]) -> tuple[FactsRow, ...]:
    """Compile facts of a variant."""
    return tuple(FactsRow(run, variant, key, dict(value)) for key, value in facts.items())


def pull_row(run: str, position: int, pull: Pull, key: str, reason: str) -> PullRow:
    """One entry of the log."""
    return PullRow(run=run, position=position, key=key, reason=reason, **attrs.asdict(pull))


def pull_of(row: PullRow) -> Pull:
    """The inverse."""
    return Pull(**{a.name: getattr(row, a.name) for a in attrs.fields(Pull)})


def _member_columns(member: Member | None) -> dict[str, Any]:
    if member is None:
        return {}
    columns = {"seconds": member.seconds, "mean_seconds": member.mean_seconds}
    return columns | {"features": list(member.features), "headroom": dict(member.headroom)}


def _score(result: Result) -> dict[str, float | None]:
    columns = (("score", "value"), ("low", "low"), ("high", "high"))
    return {column: finite(getattr(result.score, name, None)) for column, name in columns}


def _ratios(result: Mapping[str, Any], objective: str) -> dict[str, Ratio]:
    """Of a result as its row has it: the ratio in the objective by timing case, but for those whose spread is unknown."""
    found = {c["case"]: c[objective] for c in result["cases"]}
    return {case: Ratio(**r) for case, r in found.items() if None not in r.values() and r["low"] > 0}


def constants_of(launches: Iterable[LaunchSpec]) -> Constants:
    """Those of the launches, by the kernel that they start."""
    out: Constants = {}
    for launch in launches:
        place = Place(launch["kernel"]["path"], launch["kernel"]["qualname"])
        known = out.get(place, ())
        out[place] = known if launch["constants"] in known else (*known, launch["constants"])
    return out

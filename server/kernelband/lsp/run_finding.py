"""A run as the history has it, with its variants: from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from kernelband.explain.compare import Step as Moved
from kernelband.explain.compare import because
from kernelband.explain.words import Step, titles
from kernelband.history import Store, runs, view
from kernelband.history.records import RunRow
from kernelband.history.view import VariantView
from kernelband.lsp.remedies import words


@frozen
class VariantFinding:
    """A variant worth showing. Measured: ``ratio`` (original over variant, geometric mean) with its prediction interval, at least 95 %, of
    final rows of verified variants only. Predicted: ``tier`` with its ``fact``, and never a ratio.
    """

    run: str
    number: int
    title: str  # all that it changes of the original, in a line
    what: str  # its last edit, in a sentence
    why: str
    moves: tuple[str, ...]  # ``strategy.move`` of each edit, the first one first
    numerics: str
    author: str
    verified: bool = False
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int = 0  # that were timed
    tier: str = ""
    fact: str = ""
    gain: str = ""  # predicted: the largest fact that became better
    decision: str = ""  # "accept" | "reject": the last that a person said


@frozen
class RunFinding:
    """A run. ``gpu`` is the name that the driver gave, "" where nothing ran on one; ``created`` seconds since the epoch; ``policy`` is
    ``given`` where one edit was judged. ``clock``: seconds by what they went on (``search.budget.SPANS``).
    """

    id: str
    path: str
    kernel: str
    created: float
    mode: str
    device: str
    gpu: str
    state: str
    reason: str
    objective: str
    seconds: float
    trials: int
    triton: str
    torch: str
    variants: tuple[VariantFinding, ...] = ()  # in the order of ``kernelband show``
    policy: str = ""
    clock: Mapping[str, float] = field(factory=dict[str, float], repr=False)
    files: tuple[str, ...] = ()  # that it started from
    forms: Mapping[str, int] = field(factory=dict[str, int], repr=False)  # the variant (0: the original) by the form of its program


def filled(store: Store, run: RunFinding, *, whatever: bool = False) -> RunFinding:
    """With its variants; ``forms`` of those that are right, or with ``whatever`` came out of them.

    Raises:
        HistoryError: the database can't be read.
    """
    own = {"files": view.files(store, run.id), "forms": view.forms(store, run.id, whatever=whatever)}
    return evolve(run, variants=found(run.id, view.variants(store, run.id, run.mode)), **own)


def variant(store: Store, run: str, number: int) -> VariantFinding | None:
    """One that isn't among those, without a figure; None where there is none.

    Raises:
        HistoryError: the database can't be read.
    """
    known = view.variant(store, run, number)
    return found(run, [known])[0] if known is not None else None


def found(run: str, variants: Sequence[VariantView]) -> tuple[VariantFinding, ...]:
    """What is shown of them, in their order."""
    said = titles({v.number: [Step(e.move, e.parameters, e.what) for e in v.chain] for v in variants})
    return tuple(_shown(run, v, said[v.number]) for v in variants)


def _shown(run: str, v: VariantView, title: str) -> VariantFinding:
    moved = Moved(v.parent, v.gains, v.costs) if v.gains is not None and v.costs is not None else Moved(v.parent)
    return VariantFinding(
        run,
        v.number,
        title,
        v.chain[-1].what,
        v.why,
        moves=tuple(f"{e.strategy}.{e.move}" for e in v.chain),
        numerics=v.numerics,
        author=v.author,
        verified=v.verified,
        ratio=v.ratio,
        low=v.low,
        high=v.high,
        cases=v.cases,
        tier=v.tier,
        fact=because(v.tier, v.fact, moved if v.parent else None) if v.tier else "",
        gain=v.gain,
        decision=v.decision,
    )


def about(row: RunRow, now: float, trials: int) -> RunFinding:
    """Without its variants. ``now``: seconds since the epoch; a run whose process died reads ``interrupted``."""
    is_now = runs.effective(row, now)
    gpus = list(dict.fromkeys(str(g.get("name", "")) for g in row.environment.get("gpus") or ())) if row.mode == "measured" else []
    return RunFinding(
        id=row.id,
        path=row.path,
        kernel=row.kernel,
        created=row.created,
        mode=row.mode,
        device=row.device,
        gpu=gpus[0] if len(gpus) == 1 else "",
        state=is_now.state,
        reason=words(is_now.reason),
        objective=row.objective,
        seconds=row.seconds_used,
        trials=trials,
        triton=str(row.environment.get("triton") or ""),
        torch=str(row.environment.get("torch") or ""),
        policy=row.policy,
        clock=row.clock,
    )

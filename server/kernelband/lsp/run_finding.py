"""A run as the history has it, with its variants: from its rows."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from kernelband.history import Store, runs
from kernelband.history.records import RunRow
from kernelband.lsp.ranking import VariantFinding, read_variants
from kernelband.lsp.remedies import words


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
    files = store.rows("SELECT path FROM texts WHERE run = ? ORDER BY path", [run.id])
    rows = store.rows(
        "SELECT v.id, v.form, v.id = 0 OR t.fault = 'none' AND t.correctness IN ('passed', 'interpreted') AS is_right "
        "FROM variants v LEFT JOIN trials t ON t.run = v.run AND t.variant = v.id WHERE v.run = ? AND v.form IS NOT NULL ORDER BY v.id",
        [run.id],
    )
    forms: dict[str, int] = {}
    for row in (r for r in rows if whatever or r["is_right"]):
        forms.setdefault(str(row["form"]), int(row["id"]))
    return evolve(run, variants=read_variants(store, run.id, run.mode), files=tuple(str(r["path"]) for r in files), forms=forms)


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

"""All that a graphical report of one run needs, from its rows: the shapes are ``reportshape``'s."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from kernelband.explain.casenames import case_names
from kernelband.explain.course import course
from kernelband.explain.figures import Figures, figures, method_of, ratio_of, times_of
from kernelband.explain.figurewords import judged_lines, notes, slower
from kernelband.explain.kept import Kept, original_times, read
from kernelband.explain.reportshape import (
    About,
    ArmLine,
    Arms,
    CaseFigures,
    CaseLine,
    Cluster,
    Clusters,
    Compared,
    Cost,
    Counts,
    Dropped,
    FinalFigures,
    ModelCost,
    RunReport,
    State,
    Variant,
    WholeFigures,
)
from kernelband.explain.rooflinepoints import RooflineView, roofline_view
from kernelband.explain.why import items, lines, patch_of
from kernelband.explain.words import tier, titles_of
from kernelband.history import Store
from kernelband.history.outcome import FAULTS, MEASURED, PREDICTED, by_figure, by_tier, outcome, verified
from kernelband.history.records import FinalRow, RunRow, TrialRow
from kernelband.history.values import finite
from kernelband.judge.protocol import Quantity
from kernelband.judge.result import CaseResult
from kernelband.source import Workspace

MOST_VARIANTS = 1000  # that are listed
MOST_TOLD = 200  # with explanation and patch
MOST_DROPPED = 500
FAILED = ("compile_error", "oom")  # outcomes of proposals that weren't executed, whose reason is the compiler's
#: What an arm's words say of a forecast in figures: nothing of a predicted run is one.
_FORECAST = re.compile(r"; forecast [+-]\d\S*|^\d\S*[x×] of the best so far by the forecast")


def run_report(store: Store, run: RunRow, counts: Mapping[str, int] | None = None) -> RunReport:
    """Of that run.

    Args:
        store: open to read.
        run: its row.
        counts: what a run that goes on has said of its proposals; it writes them down at its end only.

    Raises:
        HistoryError: the database can't be read.
    """
    kept = read(store, run)
    best = run.summary.get("best")
    tiers = {t.variant: tier(t, kept.variants[t.variant]) for t in kept.trials}
    order = by_figure(kept.trials, verified(kept.finals.values()), best) if kept.measured else by_tier(kept.trials, tiers, best)
    listed = order[:MOST_VARIANTS]
    view = roofline_view(kept, listed)
    clusters = _clusters(kept, view)
    of = {member: c.cluster for c in clusters.rows for member in c.members}
    workspace = Workspace.for_file(run.path)
    said = titles_of(kept.variants, kept.trials, kept.finals if kept.measured else None)
    variants = tuple(
        _variant(kept, t, said[t.variant], of.get(t.variant), workspace if i < MOST_TOLD else None) for i, t in enumerate(listed)
    )
    dropped = [
        Dropped(p.parent, f"{p.strategy}.{p.move}", p.outcome, p.reason if p.outcome in FAILED else "")
        for p in kept.pulls
        if not p.executed and p.move
    ]
    return RunReport(
        run=_about(run),
        counts=_counts(kept, dropped, counts or {}),
        course=course(kept),
        arms=_arms(kept),
        clusters=clusters,
        cases=_cases(kept),
        roofline=view,
        variants=variants,
        left_out=len(order) - len(listed),
        dropped=tuple(dropped[-MOST_DROPPED:]),
    )


def to_json(report: RunReport) -> dict[str, Any]:
    """As JSON: what has no number there is null."""
    return cast("dict[str, Any]", finite(attrs.asdict(report)))


# ---------------------------------------------------------------- the run


def _about(run: RunRow) -> About:
    known, asked = run.environment, run.options
    versions = {name: known.get(name) for name in ("triton", "torch", "python", "cuda", "driver", "ptxas")}
    return About(
        id=run.id,
        kernel=run.kernel,
        path=run.path,
        device=run.device,
        gpu=", ".join(run.gpus),
        mode=cast("Any", run.mode),
        policy=run.policy,
        objective=cast("Any", run.objective),
        seed=run.seed,
        author=str(asked.get("author") or "rewriter"),
        entry=asked.get("entry"),
        against=str(asked.get("against") or ""),
        trials_budget=run.trials_budget,
        seconds_budget_s=run.seconds_budget,
        state=cast("Any", run.state),
        phase=run.phase if run.state == "running" else "done",
        reason=run.reason,
        best=run.summary.get("best"),
        created_s=run.created,
        ended_s=None if run.state == "running" else run.heartbeat,
        versions={"kernelband": run.version, **versions},
        cost=_cost(run),
    )


def _cost(run: RunRow) -> Cost:
    said = run.summary.get
    reached = said("seconds_to_verified"), said("seconds_to_checked")
    return Cost(run.seconds_used, said("seconds_per_trial"), *reached, dict(run.clock), _model(run))


def _model(run: RunRow) -> ModelCost | None:
    spent: dict[str, Any] = run.summary.get("model") or {}
    asked: dict[str, Any] = run.options.get("model") or {}
    if not spent:
        return None
    return ModelCost(str(asked.get("name", "")), int(spent["calls"]), int(spent["read"]), int(spent["written"]), spent.get("dollars"))


def _counts(kept: Kept, dropped: Sequence[Dropped], said: Mapping[str, int]) -> Counts:
    """As the run counted at its end or has said so far; from its rows what nobody said."""
    own: Mapping[str, int] = kept.run.summary.get("counts") or said
    outcomes = Counter(d.outcome for d in dropped)
    states = Counter(state(t, kept.finals.get(t.variant)) for t in kept.trials)
    failed = sum(outcomes[name] for name in FAILED)
    return Counts(
        proposed=own.get("proposed"),
        compiled=own.get("compiled"),
        executed=len(kept.trials),
        verified=states["verified"],
        duplicates=own.get("duplicates", outcomes["duplicate"]),
        compile_errors=own.get("compile_errors", own.get("failed", failed)),
        failed=states["failed"],
        wrong=states["wrong"] + states["nondeterministic"],
    )


# ---------------------------------------------------------------- arms and clusters


def _arms(kept: Kept) -> Arms:
    rows: list[ArmLine] = []
    for a in kept.arms:
        shut = "exhausted" if a.why.startswith("exhausted") else "masked" if a.weight == 0 else "open"
        why = a.why if kept.measured else _FORECAST.sub("", a.why)
        rows.append(ArmLine(a.cluster, a.strategy, a.pulls, a.mean_reward if kept.measured else None, a.weight, shut, why))
    return Arms(tuple(sorted(rows, key=lambda r: r.cluster)), "" if rows else _not_written(kept.run, "arms"))


def _clusters(kept: Kept, view: RooflineView) -> Clusters:
    found: list[dict[str, Any]] = kept.run.summary.get("clusters") or []
    limits = {p.variant: p.limited_by for p in view.points}
    rows: list[Cluster] = []
    for c in found:
        row = kept.variants.get(c["representative"])
        room = (row.headroom or {}) if kept.measured and row is not None else {}
        used = {name: round(100 * (1 - share), 1) for name, share in room.items()}
        members = tuple(c["members"])
        rows.append(Cluster(c["cluster"], c["representative"], members, len(members), limits.get(c["representative"]), used or None))
    return Clusters(tuple(rows), "" if rows else _not_written(kept.run, "clusters"))


def _not_written(run: RunRow, what: str) -> str:
    """Why a run has none of it."""
    if run.options.get("against"):
        return f"One edit was judged, nothing was searched: there are no {what}."
    if run.state != "finished":
        return f"A search writes its {what} down when it ends; this run {'goes on' if run.state == 'running' else 'was cut off'}."
    return f"This run kept no {what}: an older version wrote it, or its policy keeps none."


# ---------------------------------------------------------------- cases


def _cases(kept: Kept) -> tuple[CaseLine, ...]:
    times = original_times(kept.measurements)
    names = case_names([c.facts for c in kept.cases if c.role == "time"])
    out: list[CaseLine] = []
    for c in kept.cases:
        took = times.get(c.id)
        figures_ = (took.device_us, took.call_us, took.method, took.stage) if took is not None else (None, None, "", None)
        function = str(c.facts["function"]["qualname"])
        arguments, calls = str(c.facts["arguments"]), int(c.facts.get("calls") or 0)
        out.append(CaseLine(c.id, names.get(c.id, c.id[:8]), cast("Any", c.role), function, arguments, calls, *figures_))
    return tuple(out)


# ---------------------------------------------------------------- variants


def _variant(kept: Kept, t: TrialRow, title: str, cluster: int | None, workspace: Workspace | None) -> Variant:
    v, final = kept.variants[t.variant], kept.finals.get(t.variant)
    found = figures(kept, v.id)
    is_verified = found is not None and final is not None and final.verified
    said = tier(t, v) if not kept.measured else None
    decision = next((d.decision for d in reversed(kept.decisions) if d.variant == v.id), None)
    return Variant(
        number=v.id,
        parent=v.parent or 0,
        trial=t.number,
        move=f"{v.strategy}.{v.move}",
        parameters=v.parameters,
        title=title,
        why=v.why,
        author=v.author,
        numerics=v.numerics,
        state=state(t, final),
        outcome=said or outcome(t).word,
        reason=" ".join(judged_lines(kept, t, found)) if kept.measured else t.reason,
        seconds_s=round(t.seconds, 3),
        tier=said,
        fact=str(v.forecast.get("fact") or "") if said else None,
        ratio=found.wholes[0].mean if is_verified and found is not None else None,
        figures=_figures(found) if found is not None else None,
        decision=cast("Any", decision),
        cluster=cluster,
        explanation=items(lines(kept, v)) if workspace is not None else None,
        patch=patch_of(kept.base, v, workspace) if workspace is not None else None,
    )


def state(t: TrialRow, f: FinalRow | None) -> State:
    """How far a variant came."""
    found = outcome(t)
    if found in FAULTS:
        return "failed"
    if found in PREDICTED:
        return "checked"
    if found not in MEASURED:
        return cast("State", found.value)
    return "screened" if f is None else "verified" if f.verified else "not verified"


def _figures(found: Figures) -> FinalFigures:
    def both(case: CaseResult, quantity: Quantity) -> Compared:
        return Compared(*times_of(case, quantity), ratio_of(case, quantity), method_of(case, quantity))

    cases = tuple(CaseFigures(c.case, found.names[c.case], both(c, "device"), both(c, "call"), c.disturbed) for c in found.cases)
    wholes = tuple(WholeFigures(w.quantity, w.method, w.mean, w.weighted, w.worst.case, w.worst_ratio) for w in found.wholes)
    return FinalFigures(found.processes, found.pairs, cases, wholes, (*slower(found), *notes(found)))

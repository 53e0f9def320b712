"""Why a variant is faster, or likely to be, what was measured of it, and its patch, from what the run wrote down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from attrs import frozen

from kernelband.errors import HardwareError
from kernelband.explain.compare import Explanation, Step, measured, predicted
from kernelband.explain.figures import Figures, figures
from kernelband.explain.reason import Times, reason
from kernelband.hardware import find_device
from kernelband.history import Store, runs, trials
from kernelband.history.records import RunRow, VariantRow
from kernelband.propose import is_model
from kernelband.search.patches import patch_from_json
from kernelband.search.record import works_of
from kernelband.source import Workspace, unified_diff
from kernelband_worker.wire import CompileFacts


@frozen
class Told:
    """Everything that is shown of one variant. ``figures`` None: the final has none of it, or nothing is measured."""

    lines: tuple[str, ...]
    figures: Figures | None
    patch: str


def step(variant: VariantRow) -> Step | None:
    """What moved against the variant that it was made from; None when that is the original."""
    if not variant.parent:
        return None
    gains, costs = (variant.forecast.get(side) for side in ("parent_gains", "parent_costs"))
    if gains is None or costs is None:
        return Step(variant.parent)
    return Step(variant.parent, tuple(map(str, gains)), tuple(map(str, costs)))


def explanation(run: RunRow, variant: VariantRow, *, verified: bool) -> Explanation:
    """From the facts that moved: between the original and the variant, and between its parent and it."""
    gains, costs = (tuple(str(x) for x in variant.forecast.get(side, ())) for side in ("gains", "costs"))
    if run.mode == "predicted":
        tier, fact = (str(variant.forecast.get(k, other)) for k, other in (("tier", "unclear"), ("fact", "no fact is known")))
        return predicted(tier, fact, gains, costs, step(variant))
    return measured(gains, costs, step(variant), verified=verified)


def lines(store: Store, run: RunRow, variant: VariantRow) -> tuple[str, ...]:
    """What was changed, on top of what, why it was tried, and what explains the result."""
    verified = any(f.variant == variant.id and f.verified for f in trials.finals(store, run.id))
    out = [f"What: {variant.what}{_written_by(variant)}"]
    by_id = {v.id: v for v in trials.variants(store, run.id)}
    below = by_id.get(variant.parent or 0)
    while below is not None and below.id:
        out.append(f"  on top of variant {below.id}: {below.what}{_written_by(below)}")
        below = by_id.get(below.parent or 0)
    said = two_sentences(store, run, variant)
    return (*out, f"Tried because: {variant.why}", *said, *explanation(run, variant, verified=verified).lines())


def _written_by(variant: VariantRow) -> str:
    """Who wrote an edit, where that is a model: a reader looks at it with other eyes."""
    return f" (written by {variant.author})" if is_model(variant.author) else ""


def two_sentences(store: Store, run: RunRow, variant: VariantRow) -> tuple[str, ...]:
    """What limited the original and what the edits moved; none where the launches weren't kept. Times only from the final processes."""
    facts: dict[int, dict[str, CompileFacts]] = {}
    for row in trials.facts(store, run.id):
        facts.setdefault(row.variant, {})[row.key] = cast("CompileFacts", row.facts)
    original = next((v for v in trials.variants(store, run.id) if v.id == 0), None)
    before = works_of(original, facts.get(0, {})) if original is not None else None
    after = works_of(variant, facts.get(variant.id, {}))
    if not before or not after:
        return ()
    final = next((f for f in trials.finals(store, run.id) if f.variant == variant.id and f.verified), None)
    cases = final.result["cases"] if final is not None else ()
    times = {c["case"]: Times(c["device_before_us"], c["device_after_us"]) for c in cases}
    edits = [v.what for v in lineage(trials.variants(store, run.id), variant)]
    try:
        device = find_device(run.device)
    except HardwareError:
        return ()  # estimated from another one: its rates weren't kept
    found = reason(device, before, after, ", ".join(e.rstrip(".") for e in edits), times)
    return found.lines() if found is not None else ()


def lineage(variants: Sequence[VariantRow], variant: VariantRow) -> list[VariantRow]:
    """From the first edit of the original to this one."""
    by_id = {v.id: v for v in variants}
    out = [variant]
    while out[0].parent:
        out.insert(0, by_id[out[0].parent])
    return out


def patch_text(store: Store, run: RunRow, variant: VariantRow) -> str:
    """The variant as git itself would write it: paths from the root of the repository."""
    patch = patch_from_json(variant.patch)
    base = runs.base_texts(store, run.id)
    workspace = Workspace.for_file(run.path)
    marked = workspace.marked(f.path for f in patch.files if Path(f.path).exists())
    return unified_diff({f.path: base[f.path] for f in patch.files}, patch, workspace.roots[-1], marked=marked)


def tell(store: Store, run: RunRow, variant: VariantRow) -> Told:
    """One variant."""
    return Told(lines(store, run, variant), figures(store, run, variant.id), patch_text(store, run, variant))


def of_run(db: Path, run: str, number: int) -> Told:
    """The same by the names of database and run."""
    with Store.read(db) as store:
        row = runs.find(store, run)
        return tell(store, row, trials.variant(store, row.id, number))

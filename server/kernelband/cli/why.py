"""Why a variant is faster, or likely to be, and its patch, from what the run wrote down."""

from __future__ import annotations

from pathlib import Path

from kernelband.explain.compare import Explanation, measured, predicted
from kernelband.history import Store, runs, trials
from kernelband.history.records import RunRow, VariantRow
from kernelband.search.patches import patch_from_json
from kernelband.source import Workspace, unified_diff


def explanation(run: RunRow, variant: VariantRow) -> Explanation:
    """From the facts that moved between the original and the variant."""
    gains, costs = (tuple(str(x) for x in variant.forecast.get(side, ())) for side in ("gains", "costs"))
    if run.mode == "predicted":
        return predicted(str(variant.forecast.get("tier", "unclear")), str(variant.forecast.get("fact", "no fact is known")), gains, costs)
    return measured(gains, costs)


def lines(run: RunRow, variant: VariantRow) -> list[str]:
    """What was changed, why it was tried, and what explains the result."""
    why = explanation(run, variant)
    out = [f"What: {variant.what}", f"Tried because: {variant.why}", why.headline]
    out += [f"  + {fact}" for fact in why.gains]
    return out + [f"  - {fact}" for fact in why.costs]


def patch_text(store: Store, run: RunRow, variant: VariantRow) -> str:
    """The variant as a unified diff."""
    patch = patch_from_json(variant.patch)
    base = runs.base_texts(store, run.id)
    return unified_diff({f.path: base[f.path] for f in patch.files}, patch, Workspace.for_file(run.path).roots[-1])


def of_run(db: Path, run: str, number: int) -> tuple[list[str], str]:
    """The lines and the patch of one variant."""
    with Store.read(db) as store:
        row = runs.find(store, run)
        variant = trials.variant(store, row.id, number)
        return lines(row, variant), patch_text(store, row, variant)

"""Why a variant is faster, or likely to be, what was measured of it, and its patch, from what the run wrote down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from kernelband.errors import HardwareError
from kernelband.explain.compare import Explanation, Step, measured, predicted
from kernelband.explain.figures import Figures, figures
from kernelband.explain.kept import Kept, read
from kernelband.explain.reason import Times, reason
from kernelband.hardware import find_device
from kernelband.history import Store, runs, trials
from kernelband.history.records import RunRow, VariantRow
from kernelband.propose import is_model
from kernelband.source import Workspace, patch_from_json, unified_diff


@frozen
class Told:
    """Everything that is shown of one variant. ``figures`` None: the final has none of it, or nothing is measured."""

    lines: tuple[str, ...]
    figures: Figures | None
    patch: str


def step(variant: VariantRow) -> Step | None:
    """What changed against the variant that it was made from; None when that is the original."""
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


def lines(kept: Kept, variant: VariantRow) -> tuple[str, ...]:
    """What was changed, on top of what, why it was tried, and what explains the result."""
    final = kept.finals.get(variant.id)
    out = [f"What: {variant.what}{_written_by(variant)}"]
    below = reversed(trials.lineage(kept.variants, variant.id)[:-1])
    out += [f"  on top of variant {v.id}: {v.what}{_written_by(v)}" for v in below]
    said = two_sentences(kept, variant)
    told = explanation(kept.run, variant, verified=final is not None and final.verified)
    return (*out, f"Tried because: {variant.why}", *said, *told.lines())


@frozen
class Item:
    """A line where no terminal shows it. ``below``: it belongs to the one above that isn't."""

    text: str
    below: bool = False


def items(told: Sequence[str]) -> tuple[Item, ...]:
    """Lines without a terminal's indents and signs, which become words."""
    signs = {"  + ": "for it: ", "  - ": "against it: ", "  ": ""}
    out: list[Item] = []
    for line in told:
        sign = next((s for s in signs if line.startswith(s)), None)
        out.append(Item(line) if sign is None else Item(signs[sign] + line.removeprefix(sign), below=True))
    return tuple(out)


def _written_by(variant: VariantRow) -> str:
    """Who wrote an edit, where that is a model: a reader looks at it with other eyes."""
    return f" (written by {variant.author})" if is_model(variant.author) else ""


def two_sentences(kept: Kept, variant: VariantRow) -> tuple[str, ...]:
    """What limited the original and what the edits moved; none where the launches weren't kept. Times only from the final processes."""
    before, after = kept.works(0), kept.works(variant.id)
    if not before or not after:
        return ()
    final = kept.finals.get(variant.id)
    cases = final.result["cases"] if final is not None and final.verified else ()
    times = {c["case"]: Times(c["device_before_us"], c["device_after_us"]) for c in cases}
    edits = [v.what for v in trials.lineage(kept.variants, variant.id)]
    try:
        device = find_device(kept.run.device)
    except HardwareError:
        return ()  # estimated from another one: its rates weren't kept
    found = reason(device, before, after, ", ".join(e.rstrip(".") for e in edits), times)
    return found.lines() if found is not None else ()


def patch_text(store: Store, run: RunRow, variant: VariantRow) -> str:
    """The variant as git itself would write it: paths from the root of the repository."""
    return patch_of(runs.base_texts(store, run.id), variant, Workspace.for_file(run.path))


def patch_of(base: Mapping[str, str], variant: VariantRow, workspace: Workspace) -> str:
    """The same of the texts that the run started from, by path, in the workspace around its kernel's file."""
    patch = patch_from_json(variant.patch)
    marked = workspace.marked(f.path for f in patch.files if Path(f.path).exists())
    return unified_diff({f.path: base[f.path] for f in patch.files}, patch, workspace.roots[-1], marked=marked)


def tell(store: Store, run: RunRow, variant: VariantRow) -> Told:
    """One variant."""
    kept = read(store, run)
    return Told(lines(kept, variant), figures(kept, variant.id), patch_of(kept.base, variant, Workspace.for_file(run.path)))


def of_run(db: Path, run: str, number: int) -> Told:
    """The same by the names of database and run."""
    with Store.read(db) as store:
        row = runs.find(store, run)
        return tell(store, row, trials.variant(store, row.id, number))

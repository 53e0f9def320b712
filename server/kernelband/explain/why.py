"""Why a variant is faster, or likely to be, what was measured of it, and its patch, from what the run wrote down."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from kernelband.errors import HardwareError
from kernelband.explain.bottleneck import Bottleneck, bottleneck, bound
from kernelband.explain.compare import Explanation, Step, measured, predicted
from kernelband.explain.figures import Figures, figures
from kernelband.explain.figurewords import judged_lines
from kernelband.explain.kept import Kept, read
from kernelband.hardware import Device, find_device
from kernelband.hardware.changes import Change, changes
from kernelband.hardware.units import duration
from kernelband.hardware.work import Work
from kernelband.history import Store, runs, trials
from kernelband.history.records import RunRow, VariantRow
from kernelband.propose import is_model
from kernelband.source import Workspace, patch_from_json, unified_diff

MOST_GAINS, MOST_COSTS = 3, 2
EXPLAINED = 50.0  # per cent of the time below which a limit isn't called one
_TIME = re.compile(r", [\d.]+ (?:ns|us|µs|ms|s) at (?:peak|[\d.]+ GB/s)")
#: Which facts speak about which limit: those are named first.
_ABOUT: Mapping[str, tuple[str, ...]] = {
    "memory": ("dram", "moved", "width", "sectors", "occupancy", "filled"),
    "cache": ("moved", "dram", "sectors"),
    "compute": ("tensor cores", "serialized", "special", "instructions", "flops", "occupancy"),
    "spills": ("spills", "occupancy"),
    "idle": ("filled", "occupancy"),
    "launch": ("launches",),
}


@frozen
class Told:
    """Everything that is shown of one variant. ``judged``: what screening and the final said of it; ``figures`` None: the final has none of
    it, or nothing is measured.
    """

    lines: tuple[str, ...]
    judged: tuple[str, ...]
    figures: Figures | None
    patch: str


def step(variant: VariantRow) -> Step | None:
    """What changed against the variant that it was made from; None when that is the original."""
    return Step.of(variant.parent, variant.forecast.get("parent_gains"), variant.forecast.get("parent_costs"))


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
    found = figures(kept, variant.id)
    patch = patch_of(kept.base, variant, Workspace.for_file(run.path))
    judged = [line for t in kept.trials if t.variant == variant.id for line in judged_lines(kept, t, found)]
    return Told(lines(kept, variant), tuple(judged), found, patch)


def of_run(db: Path, run: str, number: int) -> Told:
    """The same by the names of database and run."""
    with Store.read(db) as store:
        row = runs.find(store, run)
        return tell(store, row, trials.variant(store, row.id, number))


# ---------------------------------------------------------------- two sentences


@frozen
class Times:
    """Device microseconds of one case before and after, from fresh processes; a prediction has none."""

    before_us: float
    after_us: float


@frozen
class Reason:
    """``limited`` and ``moved`` are the two sentences. ``kinds`` are the limits before and after, None where one isn't known."""

    limited: str
    moved: str
    kinds: tuple[str | None, str | None] = field(default=(None, None))

    def lines(self) -> tuple[str, str]:
        """For a terminal."""
        return self.limited, self.moved


def reason(device: Device, before: Sequence[Work], after: Sequence[Work], what: str, times: Mapping[str, Times]) -> Reason | None:
    """Of a variant against the original, on the case that takes longest.

    Args:
        device: it is for.
        before: the original's launches, of all cases.
        after: the variant's.
        what: the edits in words, as the move says them.
        times: by case, where they were verified; empty in predicted mode, and then no time is said.

    Returns:
        None when the original's launches aren't known.
    """
    case = _longest(device, before, times)
    old, new = [w for w in before if w.case == case], [w for w in after if w.case == case]
    if not old:
        return None
    took = times.get(case)
    first = _limit(device, old, took.before_us if took else None)
    share = _share(device, old, took.before_us if took else None)
    if first is None:
        limited = "What limited the original isn't known: the bytes that it moves weren't counted."
    elif share is not None and share < EXPLAINED:
        took_us = took.before_us if took else 0.0
        limited = f"What is counted explains {share:.0f} % of the original's {duration(took_us)}: {_clause(first, timed=True)}."
    else:
        cases = len({w.case for w in before})
        lead = f"On the longest of {cases} cases the" if cases > 1 else "The"
        who = f"{lead} original" if len(old) == 1 else f"{lead} largest of the original's {len(old)} launches"
        limited = f"{who} was limited by {_clause(first, timed=took is not None)}{_reached(device, old, took.before_us if took else None)}."
    last = _limit(device, new, took.after_us if took else None) if new else None
    moved = _moved(changes(device, old, new), first.kind if first else "", what) if new else f"{_edit(what)}: what it moves isn't known."
    if last is not None and first is not None:
        moved = f"{moved[:-1]}; {_still(device, first, last, new, took)}."
    return Reason(limited, moved, (first.kind if first else None, last.kind if last else None))


def _longest(device: Device, before: Sequence[Work], times: Mapping[str, Times]) -> str:
    """The case with the largest measured time, else with the most bytes."""
    timed = {w.case for w in before} & times.keys()
    if timed:
        return max(sorted(timed), key=lambda c: times[c].before_us)
    weights: dict[str, float] = {}
    for work in before:
        light = bound(device, work)
        weights[work.case] = weights.get(work.case, 0.0) + (light.us if light else 0.0)
    return max(weights, key=lambda c: weights[c]) if weights else ""


def _limit(device: Device, launches: Sequence[Work], took_us: float | None) -> Bottleneck | None:
    found = bottleneck(device, _main(device, launches), took_us if len(launches) == 1 else None)
    return None if found.kind == "unknown" else found


def _main(device: Device, launches: Sequence[Work]) -> Work:
    """The launch with the highest bound."""

    def us(work: Work) -> float:
        light = bound(device, work)
        return light.us if light else 0.0

    return max(launches, key=us)


def _clause(found: Bottleneck, *, timed: bool) -> str:
    """``Memory: it has to move 2 MB, 1 µs at 4800 GB/s. It reaches …`` -> ``memory (it has to move 2 MB, 1 µs at 4800 GB/s)``.

    Not ``timed``: a prediction shows no time beside a variant, the hardware's included.
    """
    text = found.sentence.partition(" It reaches ")[0].partition(". ")[0].rstrip(".")
    if not timed:
        text = "The launch: the work alone takes less than that" if found.kind == "launch" else _TIME.sub("", text)
    head, colon, rest = text.partition(": ")
    head = head if head.isupper() else head[0].lower() + head[1:]
    return f"{head} ({rest})" if colon else head


def _share(device: Device, launches: Sequence[Work], took_us: float | None) -> float | None:
    """Per cent of the time that the limit explains; None where it isn't timed, or launching is the limit."""
    light = bound(device, _main(device, launches)) if len(launches) == 1 else None
    return None if light is None or took_us is None or light.limit == "launch" else light.percent(took_us)


def _reached(device: Device, launches: Sequence[Work], took_us: float | None) -> str:
    light = bound(device, _main(device, launches)) if len(launches) == 1 else None
    if light is None or took_us is None or light.limit == "launch":
        return ""
    return f" and reached {light.percent(took_us):.0f} % of that in {duration(took_us)}"


def _edit(what: str) -> str:
    text = what.strip().rstrip(".")
    return f"The edit ({text})" if text else "The edit"


def _moved(found: Sequence[Change], limit: str, what: str) -> str:
    """What became better, facts about the limit first; then what became worse."""
    about = _ABOUT.get(limit, ())
    ordered = sorted(found, key=lambda c: about.index(c.kind) if c.kind in about else len(about))
    gains, costs = ([c.sentence for c in ordered if c.better is side] for side in (True, False))
    if not gains and not costs:
        return f"{_edit(what)} changed no fact that is read here by 10 % or more, so why it matters isn't known."
    better, worse = "; ".join(gains[:MOST_GAINS]), "; ".join(costs[:MOST_COSTS])
    if not gains:
        return f"{_edit(what)} changed only what speaks against it: {worse}; no fact that is read here explains a gain."
    return f"{_edit(what)} changed this: {better}{f'; against it: {worse}' if worse else ''}."


def _still(device: Device, first: Bottleneck, last: Bottleneck, launches: Sequence[Work], took: Times | None) -> str:
    reached = _reached(device, launches, took.after_us if took else None).removeprefix(" and ")
    if last.kind == first.kind:
        return f"the limit is the same{', and it ' + reached.replace('of that', 'of it') if reached else ''}"
    return f"the limit is now {_clause(last, timed=took is not None)}{', and it ' + reached if reached else ''}"

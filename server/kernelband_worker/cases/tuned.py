"""What autotuned kernels run with on a case, and the one time that a variant is tuned in a run: see ``kernelband_worker.tuning``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from kernelband_worker.cases.expected import kept_inputs
from kernelband_worker.cases.replay import SETTLED, ReplayCase, open_case
from kernelband_worker.cases.store import open_store
from kernelband_worker.launches import observe
from kernelband_worker.state import State
from kernelband_worker.tuning import PATIENCE_S, Choices, Race, recorded


def settle(state: State, variant: Optional[str]) -> None:
    """Tune a version on the timing cases, or take over what was chosen for it in another process of the run. Afterwards its calls on those
    cases find their configuration in the tuner's memory, and ``ReplayCase.choices`` knows it.

    Nothing is done the second time, without a GPU, or where nothing is autotuned. What the version raises is passed on.
    """
    settled: Dict[Optional[str], Dict[str, Choices]] = state.kept.setdefault(SETTLED, {})
    if state.role != "gpu" or variant in settled or not (state.session or {}).get("store"):
        return
    cases = _timing(state)
    found: Dict[str, Choices] = {}
    if _autotuned(state, variant, cases):
        for case in cases:
            found[case.case["id"]] = _on(state, case, variant, PATIENCE_S / len(cases))
    settled[variant] = found


def settle_size(state: State, replay: ReplayCase, variant: Optional[str], call: Callable[[], object]) -> None:
    """A size that no tuner has seen, before it is timed: the user's tuner will choose there anew if its key tells sizes apart, among all
    that the list has. So a version's choice for the nearest timing case is timed, once in a run, against what other versions chose there
    and its list has, too. ``call`` calls the version once.

    Nothing is done the second time, without a GPU, or where nothing is autotuned.
    """
    settled = state.kept.get(SETTLED, {}).get(variant) if state.role == "gpu" else None
    done: Set[Tuple[str, Optional[str]]] = state.kept.setdefault("settled sizes", set())
    if not settled or replay.case["id"] in settled or (replay.case["id"], variant) in done:
        return
    done.add((replay.case["id"], variant))
    own, near, store = replay.choices(variant), replay.near(variant), open_store(state)
    others = store.chosen(f"all-*-{near}") if variant is None else [replay.configs, *store.chosen(f"others-None-{near}*")]
    others = [choices for choices in others if choices != own]
    _once(state, f"size-{variant}-{replay.case['id']}", call, _Race(own, "others" if others else None, others, PATIENCE_S / 2))


def _on(state: State, replay: ReplayCase, variant: Optional[str], patience_s: float) -> Choices:
    store, case = open_store(state), replay.case["id"]
    how: Race = "new"
    others: Sequence[Choices] = []
    if (state.session or {}).get("tuning") == "all":
        how = "all" if variant is not None else "others"
        others = [] if variant is not None else store.chosen(f"all-*-{case}")
    prepared = kept_inputs(state, replay, 0)
    replay.restore(prepared)
    race = _Race(replay.configs, how, others, patience_s)
    return _once(state, f"{how}-{variant}-{case}", lambda: replay.call(variant, prepared), race)


@dataclass
class _Race:
    """As of ``observe``; without ``how`` nothing is timed."""

    configs: Choices
    how: Optional[Race]
    others: Sequence[Choices]
    patience_s: float


def _once(state: State, name: str, call: Callable[[], object], race: _Race) -> Choices:
    """What ``call`` runs with: as it was chosen under that name in another process of the run, else chosen now and kept."""
    store = open_store(state)
    # The original is tuned against what finalists chose so far; with others there, it is another question.
    asked = f"-{hashlib.sha256(json.dumps(race.others).encode()).hexdigest()[:12]}" if race.others else ""
    known = store.choices(name + asked)
    configs, tune = (race.configs, race.how) if known is None else (known, None)
    events: List[Any] = []
    with observe(state, events.append, configs=configs, tune=tune, others=race.others, patience_s=race.patience_s):
        call()
    chosen = recorded([{"kernel": event.function, "config": event.config} for event in events])
    if tune is not None:
        store.keep_choices(name + asked, chosen)
    return chosen


def _timing(state: State) -> List[ReplayCase]:
    """The timing cases of the run, in the order in which the program met them."""
    if "timing" not in state.kept:
        store = open_store(state)
        found = sorted((stored.case["call_index"], name) for name in store.ids() if (stored := store.load(name)).case["role"] == "time")
        state.kept["timing"] = [name for _, name in found]
    return [open_case(state, name) for name in state.kept["timing"]]


def _autotuned(state: State, variant: Optional[str], cases: List[ReplayCase]) -> bool:
    if any(case.configs for case in cases):
        return True
    return variant is not None and any("autotune" in (state.opened.text(variant, module) or "") for module in state.opened.edited(variant))

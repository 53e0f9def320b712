"""What autotuned kernels run with on a case, and the one time that a variant is tuned in a run: see ``kernelband_worker.tuning``."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Dict, List, Optional, Sequence

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


def _on(state: State, replay: ReplayCase, variant: Optional[str], patience_s: float) -> Choices:
    store, case = open_store(state), replay.case["id"]
    how: Race = "new"
    others: Sequence[Choices] = []
    if (state.session or {}).get("tuning") == "all":
        how = "all" if variant is not None else "others"
        others = [] if variant is not None else store.chosen(f"all-*-{case}")
    # The original is tuned against what finalists chose so far; with others there, it is another question.
    asked = f"-{hashlib.sha256(json.dumps(others).encode()).hexdigest()[:12]}" if others else ""
    name = f"{how}-{variant}-{case}{asked}"
    known = store.choices(name)
    events: List[Any] = []
    prepared = kept_inputs(state, replay, 0)
    replay.restore(prepared)
    with observe(
        state,
        events.append,
        configs=replay.configs if known is None else known,
        tune=how if known is None else None,
        others=others,
        patience_s=patience_s,
    ):
        replay.call(variant, prepared)
    chosen = recorded([{"kernel": event.function, "config": event.config} for event in events])
    if known is None:
        store.keep_choices(name, chosen)
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

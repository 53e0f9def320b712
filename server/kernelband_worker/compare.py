"""Operation check: does a variant give what the original gives, on the cases and input sets that are asked for?"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from kernelband_worker.cases import effects, facts, verify
from kernelband_worker.cases.capture import PROGRAMS
from kernelband_worker.cases.expected import (
    Expected,
    Shelf,
    describe_output,
    forget_kept,
    kept_inputs,
    named_inputs,
    reuses,
    shelf_of,
)
from kernelband_worker.cases.faults import Faults, beyond, finding, more, placed
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.names import leaves
from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.stress import Stress, smallest, stresses
from kernelband_worker.cases.tuned import settle
from kernelband_worker.comparison import Comparison
from kernelband_worker.errors import OperationFailed, is_out_of_memory
from kernelband_worker.exercised import Reached, edited, not_exercised
from kernelband_worker.state import State


def check(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """CheckParams -> CheckResult. A variant that raises or is wrong is a result; one that doesn't compile is a failure of the operation.

    Raises:
        OperationFailed: the variant doesn't compile or can't be launched on this device, memory runs out, or the original itself fails.
    """
    with unfollowed(state):
        return _check(state, params)


def _check(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    begin = time.monotonic()
    variant, numerics = params.get("variant"), params.get("numerics", "exact")
    programs = params.get("programs", PROGRAMS)
    shelf = shelf_of(state)
    reached = Reached(state)
    results: List[Dict[str, Any]] = []
    found: List[Dict[str, Any]] = []
    launches: Dict[str, List[Dict[str, Any]]] = {}
    for case_id in params["cases"]:
        replay = open_case(state, case_id)
        for input_set in params.get("input_sets", [0]):
            if input_set >= replay.input_sets:
                continue
            one = Check(state, replay, input_set, numerics, programs)
            results.append(one.run(variant, shelf, reached))
            if not results[-1]["ok"]:
                forget_kept(state)  # whatever went wrong may have written anywhere
            found += [f for f in one.out_of_bounds if f not in found]
            if one.launches:
                launches.setdefault(case_id, one.launches)
    stressed: List[Dict[str, Any]] = []
    if params.get("stress") and all(r["ok"] for r in results):
        stressed, failed = _stress(state, params, reached)
        results += failed
    wanted = edited(state, variant) if variant is not None else set()
    return {
        "cases": results,
        "stress": stressed,
        "not_exercised": not_exercised(wanted, reached.places()),
        "interpreted": state.role == "cpu",
        "out_of_bounds": found,
        "launches": launches,
        "seconds": time.monotonic() - begin,
    }


def _stress(state: State, params: Dict[str, Any], reached: Reached) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Stress the smallest cases: wire.StressFacts of each stress, and wire.CaseCheck of the first that shows the variant wrong."""
    numerics, programs = params.get("numerics", "exact"), params.get("programs", PROGRAMS)
    shelf = shelf_of(state)
    told: List[Dict[str, Any]] = []
    replays = [open_case(state, case_id) for case_id in params["cases"]]
    for replay in smallest(replays):
        begin = time.monotonic()
        for stress in stresses(state, replay, replays, shelf, programs):
            row, why = None, stress.why
            if stress.replay is not None:
                row = _stressed(Check(state, stress.replay, 0, numerics, programs), params.get("variant"), stress, shelf, reached)
            if row is not None and not row.get("comparable", True):
                row, why = None, "not deterministic"
            now = time.monotonic()
            told.append({"case": stress.case, "name": stress.name, "used": row is not None, "why": why, "seconds": now - begin})
            begin = now
            if row is not None and not row["ok"]:
                forget_kept(state)
                return told, [row]
    return told, []


def _stressed(one: Check, variant: Optional[str], stress: Stress, shelf: Shelf, reached: Reached) -> Dict[str, Any]:
    try:
        row = one.run(variant, shelf, reached)
    except OperationFailed as error:
        if error.kind != "compile_error":
            raise
        row = {"input_set": 0, "ok": False, "deterministic": True, "reason": str(error), "outputs": []}
    return {**row, "case": stress.case, "reason": None if row["ok"] else f"with {stress.name}: {row['reason']}"}


class Check(Comparison):
    """One case on one input set: the variant is run, and compared."""

    def __init__(self, state: State, replay: ReplayCase, input_set: int, numerics: str, programs: int) -> None:
        super().__init__(state, replay, input_set, numerics, programs)
        self.out_of_bounds: List[Dict[str, Any]] = []  # beyond the original's
        self.launches: List[Dict[str, Any]] = []  # role cpu: wire.LaunchFacts of the variant's first run

    def run(self, variant: Optional[str], shelf: Shelf, reached: Reached) -> Dict[str, Any]:
        expected = shelf.get(self.state, self.replay, self.input_set, self.programs)
        reason = self._compare(variant, expected, reached)
        return {
            "case": self.replay.case["id"],
            "input_set": self.input_set,
            "ok": reason is None,
            "deterministic": self.deterministic,
            "comparable": self.comparable,
            "reason": reason,
            "outputs": self.outputs,
        }

    def _compare(self, variant: Optional[str], expected: Expected, reached: Reached) -> Optional[str]:
        """Run the variant twice; why it is wrong, None when it isn't."""
        replay, prepared = self.replay, kept_inputs(self.state, self.replay, self.input_set)
        for other in [key for key in prepared.bound if key not in (None, variant)]:
            del prepared.bound[other]
        try:
            settle(self.state, variant)
            with finding(self.state) as found:
                with reached.profiling():
                    live, returned = verify.run(
                        self.state, replay, prepared, variant, first=True, programs=self.programs, handler=self._listener(reached)
                    )
                hidden = [verify.unknown(self.state, t) for _, t in live]
                kept = [(n, t.detach().clone()) for n, t in live]
                described, shared = [describe_output(t) for _, t in live], effects.aliases(live, named_inputs(replay, prepared))
                mine = Faults(outside=replay.outside(prepared), changed=replay.changed(prepared))
                again, _ = verify.run(self.state, replay, prepared, variant, first=False, programs=self.programs)
        except Exception as error:  # noqa: BLE001 - the variant may raise anything: that is its result
            return self._raised(error)
        mine.overwrites, mine.out_of_bounds = reuses(live, again, shared), placed(found, replay, prepared)
        mine.strays = {} if prepared.zones is None else prepared.zones.written
        self.out_of_bounds = beyond(mine.out_of_bounds, expected.faults.out_of_bounds)
        problem = self.same_kind(expected, kept, described, shared, leaves(returned)) or more(mine, expected.faults)
        return problem or self.values(expected, kept, [t for _, t in again], hidden)

    def _listener(self, reached: Reached) -> Callable[[Any], None]:
        """What hears of each launch: who ran, and without a GPU what it moved and computed."""
        target = next((x["kernel"] for x in self.replay.case["launches"] if x["target"]), None)

        def on_launch(event: Any) -> None:
            reached.on_launch(event)
            if event.traffic is not None:
                self.launches.append(facts.launch_facts(event, target or event.function))

        return on_launch

    def _raised(self, error: Exception) -> str:
        """The sentence for what the variant raised.

        Raises:
            OperationFailed: it doesn't compile or fit the device.
            Exception: memory ran out or CUDA is unusable; the executor deals with that.
        """
        if is_out_of_memory(error) or "CUDA error" in str(error) or "CUDA driver" in str(error):
            raise error
        kind, said = type(error).__name__, str(error).strip()
        first = said.splitlines()[0] if said else kind
        if isinstance(error, OperationFailed):
            if error.kind in ("bad_request", "internal"):
                raise error
            return first
        if kind in ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "OutOfResources", "PTXASError"):
            raise OperationFailed(f"The variant doesn't compile for this device: {first}", "compile_error", detail=said) from error
        return f"it raises {kind}: {first[:300]}"

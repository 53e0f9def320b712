"""Operation capture: run the entry, record how it calls the kernel, check that the original can be replayed, choose the cases."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any, Dict, Iterator, List, Optional

from kernelband_worker.cases import choose, entry
from kernelband_worker.cases.accept import accept, neighbours, ranks
from kernelband_worker.cases.alarm import Alarm
from kernelband_worker.cases.build import build
from kernelband_worker.cases.faults import Faults, told
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.recorder import Recorder
from kernelband_worker.cases.recording import Limits, Recording
from kernelband_worker.cases.store import Store, open_store
from kernelband_worker.cases.watch import watching
from kernelband_worker.errors import OperationFailed
from kernelband_worker.launches import observe
from kernelband_worker.loader import Loader
from kernelband_worker.state import State

SECONDS = 60.0
RECORDING = 0.6  # of the time, at most, once something is recorded: what is recorded is replayed as well
DISTINCT = 16
INPUT_SETS = 3
PROGRAMS = 64
NEIGHBOUR_SECONDS, LEAST_NEIGHBOUR_SECONDS = 10.0, 2.0
MOST_SIZES = 4
SLOW_RUN_S = 10.0  # interpreted entries that take longer are not run again
_MODULE = "<module>"


def capture(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """CaptureParams -> CaptureResult. Needs an executor that hasn't loaded the host functions' modules.

    Raises:
        OperationFailed: the entry fails (its own error is the detail), never launches the kernel, or launches it only in ways that
            can't be recorded.
    """
    begin = time.monotonic()
    seconds, programs = params.get("seconds", SECONDS), params.get("programs", PROGRAMS)
    at_most = params.get("at_most_s", seconds)
    within = params.get("within_s", INPUT_SETS * seconds)
    end = begin + within
    store = open_store(state)
    recorder = Recorder(state, store, params["kernel"])
    wanted = params["entry"]
    hosts = [f for f in params.get("hosts", []) if f["qualname"] != _MODULE]
    state.opened.record(hosts, recorder.wrap)
    input_sets = params.get("input_sets", INPUT_SETS)
    runs: List[Dict[str, Recording]] = []
    first: Optional[entry.Outcome] = None
    stopped: Optional[str] = None
    notes: List[str] = []
    launches = observe(state, recorder.on_launch, programs=programs, guessed=recorder.unwanted)
    with watching(recorder.watched, recorder.launching, recorder.pass_over), launches, _passing_over(state.opened, recorder):
        for number in range(max(1, input_sets)):
            enough_s = RECORDING * (end - time.monotonic())
            now = time.monotonic()
            limits = Limits(now + at_most, params.get("distinct_cases", DISTINCT), now + enough_s)
            recorder.begin(limits, runs[0] if runs else None)
            outcome = entry.run(state, wanted, _alarm(recorder, seconds, at_most, enough_s), number)
            recordings = recorder.end()
            if first is None:
                first = outcome
                _refuse(state, recorder, recordings, outcome, params)
                if recorder.sampled or outcome.failure is not None:
                    passed = outcome.failure is not None or bool(recorder.passed_over)
                    printed = wanted["kind"] != "pytest" and bool(
                        outcome.output.strip()
                    )  # pytest keeps a program's output, and prints its own
                    notes += _sampled(wanted, outcome.failure, passed=passed, printed=printed)
                if outcome.missing is not None:
                    notes.append(f"The entry was stopped, for {outcome.missing}; what it did until then is used.")
                stopped = recorder.stopped or ("processes" if recorder.watched.ended else "time" if outcome.stopped else None)
            elif outcome.failure is not None and not (outcome.failure.assertion and recorder.sampled):
                notes.append(
                    f"With another seed the entry fails ({outcome.failure.text.splitlines()[0]}): that input set is drawn instead."
                )
            runs.append(recordings)
            if number == 0 and not any(r.tree is not None for r in recordings.values()):
                break
            if number == 0 and not recorder.gpu and outcome.seconds > SLOW_RUN_S:
                input_sets = 1
                notes.append(f"Without a GPU the entry takes {outcome.seconds:.0f} s, so it is run once and cases have one input set.")
                break
            if outcome.seconds > RECORDING * (end - time.monotonic()):
                break  # there is no time for another run: further input sets are drawn
        checked = len(runs[0])
        if params.get("sizes") and end > time.monotonic():
            runs[0].update(_sizes(state, recorder, params, runs[0], notes, seconds=RECORDING * (end - time.monotonic())))
    assert first is not None
    main = wanted["module"] if wanted["kind"] == "script" else None
    with unfollowed(state):
        few = checked < choose.HOLD_OUT_FROM
        cases = _cases(state, store, params, runs, input_sets=input_sets, main=main, notes=notes, few=few, end=end)
    if choose.short(cases):
        notes.append("Every case takes under 20 µs on the device, where submission and noise decide: name an entry with larger sizes.")
    return {
        "cases": cases,
        "out_of_bounds": _out_of_bounds(state),
        "functions_reached": [recorder.reached[key] for key in sorted(recorder.reached)],
        "output": first.output,
        "seconds": time.monotonic() - begin,
        "truncated": _truncated(stopped, first.seconds, checked),
        "notes": notes,
    }


@contextlib.contextmanager
def _passing_over(loader: Loader, recorder: Recorder) -> Iterator[None]:
    """Let the recorder count the assertions of modules that say nothing (role cpu)."""
    before = loader.passed_over
    loader.passed_over = before and recorder.pass_over
    try:
        yield
    finally:
        loader.passed_over = before


def _alarm(recorder: Recorder, seconds: float, at_most: float, enough_s: float) -> Alarm:
    return Alarm(seconds, at_most=at_most, enough_s=enough_s, seen=recorder.has_recorded, busy=lambda: recorder.keeper.busy)


def _sizes(
    state: State, recorder: Recorder, params: Dict[str, Any], known: Dict[str, Recording], notes: List[str], *, seconds: float
) -> Dict[str, Recording]:
    """What a second entry shows that the first one didn't: its cases have one input set. That it fails is no more than a note."""
    recorder.begin(Limits(time.monotonic() + seconds, len(known) + MOST_SIZES))
    outcome = entry.run(state, params["sizes"], Alarm(seconds, busy=lambda: recorder.keeper.busy))
    found = {key: recording for key, recording in recorder.end().items() if key not in known and recording.tree is not None}
    for recording in found.values():
        recording.order += len(known)
    if outcome.failure is not None and not found:
        notes.append(f"The larger sizes of {params['sizes']['name']} are not known: it fails ({outcome.failure.text.splitlines()[0]}).")
    if outcome.missing is not None and not found:
        notes.append(f"The larger sizes of {params['sizes']['name']} are not known, for {outcome.missing}.")
    return found


def _cases(
    state: State,
    store: Store,
    params: Dict[str, Any],
    runs: List[Dict[str, Recording]],
    *,
    input_sets: int,
    main: Optional[str],
    notes: List[str],
    few: bool,
    end: float,
) -> List[Dict[str, Any]]:
    """Cases of what was recorded, replayed and with their roles; neighbours too where there are ``few``. At ``end``, a moment, what is
    replayed must do.
    """
    programs = params.get("programs", PROGRAMS)
    stored = build(state, store, runs, input_sets, main=main)
    recorded = list(runs[0].values())
    recorded.sort(key=lambda r: r.order)
    own: Dict[str, Faults] = {}
    for number, (case, recording) in enumerate(zip(stored, recorded)):
        if time.monotonic() > end and own:
            notes.append(f"There was no time to replay {len(stored) - number} of {len(stored)} recorded calls: they are left out.")
            stored = stored[:number]
            break
        faults = accept(state, store, case, recording, programs=programs, notes=notes)
        if faults is not None:
            own[case.case["id"]] = faults
    cases = [s.case for s in stored]
    _shares(cases)
    cases = choose.choose(cases, hold_out=state.role == "gpu")  # nothing is verified at the end where nothing is measured
    keep = {c["id"] for c in cases}
    stored = [s for s in stored if s.case["id"] in keep]
    said = told([own[c["id"]] for c in cases if c["replayable"]])
    if said is not None:
        notes.append(said)
    if params.get("neighbours", True) and few and any(c["replayable"] for c in cases):
        seconds = min(NEIGHBOUR_SECONDS, max(LEAST_NEIGHBOUR_SECONDS, end - time.monotonic()))
        made = neighbours(state, store, stored, seconds, programs=programs, own=own)
        cases += [s.case for s in made]
    for one in stored:
        if one.case["replayable"]:
            store.save(one)
    return cases


# ---------------------------------------------------------------------- refusals


def _refuse(state: State, recorder: Recorder, recordings: Dict[str, Recording], outcome: entry.Outcome, params: Dict[str, Any]) -> None:
    """Say why there is nothing to work on, in one sentence.

    Raises:
        OperationFailed: the entry failed, or nothing was recorded.
    """
    name, kernel = params["entry"]["name"], params["kernel"]["qualname"]
    failure = outcome.failure
    alone = not recorder.watched.processes and ranks() == 1
    sampled = failure is not None and failure.assertion and recorder.sampled  # it has no full results to check
    if failure is not None and (alone or recordings) and not (sampled and recordings):
        said = f"fails{failure.place()}: {failure.text.splitlines()[0]}"
        if sampled:
            said = f"stops{failure.place()} at an assertion of its own: there is no GPU, and only a sample of what it looks at was run"
        sentence = f"The entry {name} {said}"
        raise OperationFailed(sentence, "entry_failed", **entry.failure_data(failure))
    if recordings:
        return
    _refuse_kind(state, params)
    if recorder.notes:
        raise OperationFailed(f"{kernel} can't be captured: {recorder.notes[0]}.", "not_replayable")
    if not alone:  # its own failure is most often theirs: another process finds neither the recorders nor a device
        raise OperationFailed(
            f"The entry {name} works with several processes, and launches in another process can't be recorded: "
            f"name an entry that calls {kernel} in one.",
            "not_replayable",
            **(entry.failure_data(failure) if failure is not None else {}),
        )
    if params["kernel"] in recorder.launched:
        raise OperationFailed(
            f"{kernel} is launched in a way that can't be recorded by itself (a compiled kernel outside of a function, say): "
            "put the launch into a function that takes the tensors.",
            "not_replayable",
        )
    if outcome.missing is not None:
        raise OperationFailed(f"The entry {name} can't be recorded here: {outcome.missing}. Name one with smaller inputs.", "entry_failed")
    if outcome.stopped:
        late = "was still being imported after" if outcome.importing else f"didn't launch {kernel} within"
        raise OperationFailed(f"The entry {name} {late} {outcome.seconds:.0f} s: name a quicker entry.", "never_launches")
    around = recorder.launched.around(params["kernel"])
    kind, why = ("never_launches", recorder.launched.instead(params["kernel"])) if around is None else ("generated", around)
    raise OperationFailed(f"The entry {name} never launches {kernel}: {why}", kind)


def _refuse_kind(state: State, params: Dict[str, Any]) -> None:
    if params["kernel"]["module"] not in sys.modules:  # a script, or what the entry doesn't import: loading it is no part of the reason
        return
    kernel = state.opened.resolve(None, params["kernel"]) if "<locals>" not in params["kernel"]["qualname"] else None
    while kernel is not None:
        if "gluon" in type(kernel).__module__:
            raise OperationFailed(
                f"{params['kernel']['qualname']} is a Gluon kernel: KernelBand optimizes @triton.jit kernels.", "unsupported"
            )
        kernel = getattr(kernel, "fn", None)


def _sampled(wanted: Dict[str, Any], failure: Optional[entry.Failure], *, passed: bool, printed: bool) -> List[str]:
    """What of the program is none of a whole run: assertions of its own that failed, and what it printed."""
    name = os.path.basename(wanted["path"]) if wanted["kind"] == "script" else wanted["name"]
    where = failure.place() if failure is not None else ""
    said = [f"{name}'s own assertions{where} have no full results to check, and are ignored"] if passed else []
    said += [f"figures that {name} prints are none of a whole run"] if printed else []
    return [f"Without a GPU only a sample of each launch's programs is run, so {', and '.join(said)}."] if said else []


def _truncated(stopped: Optional[str], seconds: float, cases: int) -> Optional[str]:
    if stopped == "time":
        return f"The entry was stopped after {seconds:.0f} s; what it did until then is used."
    if stopped == "processes":
        return "The entry was stopped where it starts other processes, which can't be recorded; what it did until then is used."
    if stopped == "distinct":
        return f"The entry was stopped after {cases} distinct cases."
    return None


def _shares(cases: List[Dict[str, Any]]) -> None:
    total = sum((c["device_us"] or 0.0) * c["calls"] for c in cases)
    for case in cases:
        if total and case["device_us"] is not None:
            case["share"] = case["device_us"] * case["calls"] / total


def _out_of_bounds(state: State) -> List[Dict[str, Any]]:
    if state.role != "cpu":
        return []
    from kernelband_worker.cpu.machine import machine_of

    return [{key: found[key] for key in ("path", "line", "kind", "message")} for found in machine_of(state).out_of_bounds]

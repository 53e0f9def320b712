"""Operations ``turn``, ``probe`` and ``reveal``: one version of the program in a process of its own, timed on contents that nobody knows.

Original and variants take turns, each in its process; the engine alternates them and compares. No timed call can be told from one whose
results are looked at: after each, the dice decide whether they are kept, and later the engine decides whose are compared, in a process
that never loads the variant (``referee``).
"""

from __future__ import annotations

import gc
import json
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ContextManager, Dict, Iterator, List, Optional, Tuple, cast

import torch

from kernelband_worker.cases import effects
from kernelband_worker.cases.expected import describe_output, named_inputs
from kernelband_worker.cases.names import leaves
from kernelband_worker.cases.replay import Prepared, ReplayCase, open_case
from kernelband_worker.cases.store import open_store
from kernelband_worker.cases.tuned import settle, settle_size
from kernelband_worker.errors import OperationFailed
from kernelband_worker.launches import observe
from kernelband_worker.measure import bound
from kernelband_worker.measure.blocks import give
from kernelband_worker.measure.clocks import disturbed
from kernelband_worker.measure.contents import Content, Contents, contents_of, forget
from kernelband_worker.measure.device import Device, Side
from kernelband_worker.measure.gpu import memory, require_clock
from kernelband_worker.measure.probe import LONG_US, probe
from kernelband_worker.measure.replayed import of_the_program
from kernelband_worker.measure.time import Workbench, workbench
from kernelband_worker.measure.warmup import warm_up
from kernelband_worker.state import State
from kernelband_worker.wire import CaseProbe, CaseTurn, RevealParams, RevealResult, SurveyParams, TurnCase, TurnParams

#: What may pass between the end of the call's stream and that of the device, beside what it takes to ask an idle one: a call that works
#: on other streams takes longer.
TAIL_US = 8.0
MOST_TRIES = 3
FLUSHES = 5
WARMUP_S = 0.025


@dataclass
class Kept:
    """The results of one timed call, copied as soon as the device was idle, and what it was called on."""

    content: Content
    outputs: List[Tuple[str, torch.Tensor]]
    described: List[Dict[str, Any]]
    aliases: Dict[str, Optional[str]]
    leaves: List[Tuple[str, Any]]


class Chance:
    """Which of the calls so far is kept: each with the same chance (reservoir sampling), decided after it."""

    def __init__(self) -> None:
        self.seen = 0
        self.kept: Optional[Kept] = None

    def wants(self) -> bool:
        self.seen += 1
        return int.from_bytes(bound.urandom(8), "big") % self.seen == 0


# ---------------------------------------------------------------- the operations


def survey(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """SurveyParams -> SurveyResult: warms up and looks at each case.

    Raises:
        OperationFailed: no GPU, out of memory, or the version fails or never stops compiling.
    """
    wanted = cast("SurveyParams", params)
    with _measuring(state, wanted["variant"]) as bench:
        found: List[CaseProbe] = [_look(_calls(state, case, wanted["variant"], wanted["seed"])) for case in wanted["cases"]]
        bench.device.synchronize()
    return {"cases": found}


def turn(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """TurnParams -> TurnResult.

    Raises:
        OperationFailed: no GPU, out of memory, or the version fails.
    """
    wanted = cast("TurnParams", params)
    before = bound.now()
    cases: List[CaseTurn] = []
    kept: Dict[str, Chance] = state.kept.setdefault("results", {})
    kept.clear()
    with _measuring(state, wanted["variant"]) as bench:
        first = bench.snapshot()
        for one in wanted["cases"]:
            chance = kept[one["case"]] = Chance()
            calls = _calls(state, one["case"], wanted["variant"], wanted["seed"], chance)
            settle_size(state, calls.contents.replay, calls.variant, calls.untimed)
            cases.append(_time(calls, one))
        trouble = disturbed(first, bench.snapshot())
    return {"cases": cases, "disturbed": trouble, "threads": bound.threads(), "seconds": bound.now() - before}


def reveal(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """RevealParams -> RevealResult: the results that the last turn kept of a case go into the run's store, or parts of them where they are
    large.

    Raises:
        OperationFailed: nothing was kept.
    """
    wanted = cast("RevealParams", params)
    chance: Optional[Chance] = state.kept.get("results", {}).get(wanted["case"])
    if chance is None or chance.kept is None:
        raise OperationFailed(f"No result of case {wanted['case']} was kept.", "bad_request")
    kept, store = chance.kept, open_store(state)
    for number, (_, tensor) in enumerate(kept.outputs):
        give(store, number, tensor, wanted["blocks"])
    result: RevealResult = {
        "seed": kept.content.seed,
        "k": kept.content.k,
        "input_set": kept.content.input_set,
        "outputs": [n for n, _ in kept.outputs],
        "described": kept.described,
        "aliases": kept.aliases,
        "leaves": [[n, json.dumps(v)] for n, v in kept.leaves],
    }
    return cast("Dict[str, Any]", result)


def call_once(state: State, case_id: str, variant: Optional[str]) -> None:
    """One call on each buffer of a case: other addresses can mean another specialisation.

    Raises:
        OperationFailed: the version failed.
    """
    with _measuring(state, variant) as bench:
        calls = _calls(state, case_id, variant, "prepare")
        settle_size(state, calls.contents.replay, calls.variant, calls.untimed)
        for buffer in range(len(calls.contents.buffers)):
            calls.call(calls.next(buffer))
            bench.device.synchronize()  # an error belongs to the call that made it


# ---------------------------------------------------------------- one case


def _time(calls: _Calls, one: TurnCase) -> CaseTurn:
    device = calls.device
    calls.untimed()
    tuned = device.tunings()
    on_device: List[float] = []
    per_call: List[float] = []
    for _ in range(one["samples"]):
        us, wall_us = calls.alone(one["method"], sleep_us=one["sleep_us"])
        on_device.append(us)
        if not one["batch"]:
            per_call.append(wall_us)
    if one["batch"]:
        per_call = [calls.in_a_row(min(one["batch"], len(calls.contents.buffers))) for _ in range(max(1, one["samples"] // 3))]
    if device.tunings() != tuned:
        raise OperationFailed(
            "It can't be timed: its autotuner timed configurations in calls that were being measured. "
            "Give it a key that stays the same from call to call.",
            "unsupported",
        )
    return {"case": one["case"], "device_us": on_device, "call_us": per_call}


class _Calls:
    """Calls of one version on one case, each on a content of its own."""

    def __init__(self, device: Device, contents: Contents, variant: Optional[str], *, seed: str, chance: Optional[Chance]) -> None:
        self.device, self.contents, self.variant, self.seed, self.chance = device, contents, variant, seed, chance
        self.k = -1

    def next(self, buffer: Optional[int] = None) -> Prepared:
        """A buffer with the next content."""
        self.k += 1
        return self.contents.fill(self.k % len(self.contents.buffers) if buffer is None else buffer, self.content(self.k), self.variant)

    def content(self, k: int) -> Content:
        """Of whatever input set chance says: a buffer doesn't get the same one each time."""
        sets = self.contents.sets
        return Content(self.seed, k, sets[Content(self.seed, k, 0).secret(-1) % len(sets)])

    def call(self, prepared: Prepared) -> Any:
        return self.contents.replay.call(self.variant, prepared)

    def untimed(self) -> None:
        """Other processes were on the GPU: one call that doesn't count."""
        self.call(self.next())
        self.device.synchronize()

    def alone(self, method: str, *, sleep_us: float) -> Tuple[float, float]:
        """One call with a cold cache: on the device by ``method``, and by the host's clock, in microseconds."""
        device, us, wall_us = self.device, 0.0, 0.0
        for _ in range(MOST_TRIES):
            prepared = self.next()
            device.flush()
            device.synchronize()
            device.sleep(sleep_us)
            start = device.now()
            first = device.mark()
            returned = self.call(prepared)
            last = device.mark()
            submitted_us = (device.now() - start) * 1e6
            device.wait(last)
            reached = device.now()
            device.synchronize()
            done = device.now()
            device.synchronize()
            idle_us = (device.now() - done) * 1e6
            wall_us = (done - start) * 1e6
            # What goes on elsewhere after the call's own stream is done belongs to the call.
            tail_us = max(0.0, (done - reached) * 1e6 - idle_us - TAIL_US)
            us = device.elapsed_us(first, last) + tail_us if method == "events" else wall_us
            self.keep(prepared, returned, self.k)
            if method == "wall" or not sleep_us or submitted_us <= sleep_us:
                break
            sleep_us = 2.0 * submitted_us  # the submission outlasted its sleep and left gaps on the device
        return us, wall_us

    def in_a_row(self, count: int) -> float:
        """The call time: so many calls after each other on contents of their own, without flush or synchronisation in between."""
        device, began = self.device, self.k + 1
        ready = [self.next(buffer) for buffer in range(count)]
        device.synchronize()
        start = device.now()
        returned = [self.call(prepared) for prepared in ready]
        device.synchronize()
        us = (device.now() - start) * 1e6 / count
        for number, (prepared, one) in enumerate(zip(ready, returned)):
            prepared.last = prepared.bound[self.variant]
            self.keep(prepared, one, began + number)
        return us

    def keep(self, prepared: Prepared, returned: Any, k: int) -> None:
        """The device is idle: copy the results, if the dice say so."""
        if self.chance is None or not self.chance.wants():
            return
        replay = self.contents.replay
        live = replay.outputs(prepared, returned)
        self.chance.kept = Kept(
            self.content(k),
            [(n, bound.clone(t)) for n, t in live],
            [describe_output(t) for _, t in live],
            effects.aliases(live, named_inputs(replay, prepared)),
            leaves(returned),
        )


def _look(calls: _Calls) -> CaseProbe:
    """Warm up, then probe."""
    device = calls.device
    ready: List[Prepared] = []

    def restore() -> None:
        ready[:] = [calls.next()]

    side = Side(lambda: calls.call(ready[0]), restore)
    (wall_us,) = warm_up(device, (side,), WARMUP_S)
    found = probe(device, side, wall_us)
    device.synchronize()
    first = device.mark()
    for _ in range(FLUSHES):
        device.flush()
    last = device.mark()
    device.synchronize()
    return {
        "case": calls.contents.replay.case["id"],
        "host_us": found.host_us,
        "device_us": found.device_us,
        "wall_us": found.wall_us,
        "restore_us": found.restore_us,
        "flush_us": device.elapsed_us(first, last) / FLUSHES,
        "synchronises": found.synchronises,
        "long": found.wall_us >= LONG_US,
        "buffers": len(calls.contents.buffers),
    }


# ---------------------------------------------------------------- around it


def _calls(state: State, case_id: str, variant: Optional[str], seed: str, chance: Optional[Chance] = None) -> _Calls:
    replay: ReplayCase = open_case(state, case_id)
    settle(state, variant)  # nothing is tuned from here on
    return _Calls(workbench(state).device, contents_of(state, replay), variant, seed=seed, chance=chance)


def _run(state: State) -> ContextManager[None]:
    """On a GPU Triton launches as always. Without one (a rehearsal on the host's clock) every program is interpreted."""
    return observe(state, lambda _event: None, programs=0) if state.role == "cpu" else nullcontext()


@contextmanager
def _measuring(state: State, variant: Optional[str]) -> Iterator[Workbench]:
    """The bench, with the collector's pauses of milliseconds out of the way.

    Raises:
        OperationFailed: no GPU, out of memory, or the version of the program failed.
    """
    require_clock(state)
    bench, collects = workbench(state), gc.isenabled()
    gc.disable()
    try:
        with memory(state), _run(state):
            yield bench
    except OperationFailed as failed:
        if failed.kind == "out_of_memory":
            forget(state)
        raise
    except Exception as error:
        known = of_the_program(error, "The original" if variant is None else "The variant")
        if known is None:
            raise
        raise known from error
    finally:
        if collects:
            gc.enable()

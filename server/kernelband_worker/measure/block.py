"""A block: the pairs of one case, from warm-up to the list of pairs. Knows no CUDA and no Triton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Tuple

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.device import Device, Side
from kernelband_worker.measure.interleave import by_input_set, order, run_pair
from kernelband_worker.measure.plan import Plan, choose_method, make_plan
from kernelband_worker.measure.probe import Probe, probe
from kernelband_worker.measure.samplers import BatchSampler, EventSampler, JointSampler, Sampler, WallSampler
from kernelband_worker.measure.warmup import warm_up
from kernelband_worker.wire import Pair

FLUSHES = 5


@dataclass(frozen=True)
class Wish:
    """What is asked of a block. ``repeatable``: inputs survive calls without being restored."""

    pairs: int
    warmup_s: float
    input_sets: int
    repeatable: bool = True


@dataclass(frozen=True)
class Timing:
    """What a block showed, by pair index."""

    plan: Plan
    device: Tuple[Pair, ...]
    call: Tuple[Pair, ...]
    original: Probe
    variant: Probe


def time_block(device: Device, sides_of: Callable[[int], Dict[str, Side]], wish: Wish, ready: Callable[[], None] = lambda: None) -> Timing:
    """Times original (A) against variant (B).

    Args:
        device: the GPU.
        sides_of: both sides on an input set; asked once per set, in order.
        wish: what is asked.
        ready: called once the device is warm and before the first pair (clocks are read there).

    Raises:
        OperationFailed: the call never stops compiling, or tunes itself anew while it is timed.
    """
    first = sides_of(0)
    walls = warm_up(device, (first["A"], first["B"]), wish.warmup_s)
    original = probe(device, first["A"], walls[0])
    variant = probe(device, first["B"], walls[1])
    flush_us = _flush_us(device)
    method = choose_method(original, variant)
    ready()
    plan = make_plan(method, wish.pairs, (original, variant), flush_us=flush_us, repeatable=wish.repeatable)
    on_device, on_host = _pairs(device, sides_of, first, wish.input_sets, plan)
    return Timing(plan, on_device, on_host, original, variant)


def _pairs(
    device: Device, sides_of: Callable[[int], Dict[str, Side]], first: Dict[str, Side], input_sets: int, plan: Plan
) -> Tuple[Tuple[Pair, ...], Tuple[Pair, ...]]:
    on_device: Dict[int, Pair] = {}
    on_host: Dict[int, Pair] = {}
    for input_set, members in by_input_set(plan.pairs, input_sets):
        sides = first if input_set == 0 else sides_of(input_set)
        if plan.joint:
            joint = JointSampler(device, sides, plan.method == "wall")
            tuned = device.tunings()
            for i in members:
                seen = {letter: joint(letter) for letter in order(i, 0)}
                on_device[i] = _pair(input_set, seen["A"][0], seen["B"][0])
                on_host[i] = _pair(input_set, seen["A"][1], seen["B"][1])
            _require_untuned(device, tuned)
            continue
        sampler: Sampler = WallSampler(device, sides) if plan.method == "wall" else EventSampler(device, sides, plan.sleep_us)
        batches = BatchSampler(device, sides, plan.batch)
        # Other inputs mean other addresses, and now and then another specialisation: one call of each side that doesn't count.
        run_pair("AB", sampler)
        tuned = device.tunings()
        for i in members:
            on_device[i] = _pair(input_set, *run_pair(order(i, plan.quads), sampler))
            on_host[i] = _pair(input_set, *run_pair(order(i, 0), batches))
        _require_untuned(device, tuned)
    indices = sorted(on_device)
    return tuple(on_device[i] for i in indices), tuple(on_host[i] for i in indices)


def _require_untuned(device: Device, before: int) -> None:
    if device.tunings() != before:
        raise OperationFailed(
            "It can't be timed: its autotuner timed configurations in calls that were being measured. "
            "Give it a key that stays the same from call to call.",
            "unsupported",
        )


def _pair(input_set: int, original_us: float, variant_us: float) -> Pair:
    return {"input_set": input_set, "original_us": original_us, "variant_us": variant_us}


def _flush_us(device: Device) -> float:
    device.synchronize()
    first = device.mark()
    for _ in range(FLUSHES):
        device.flush()
    last = device.mark()
    device.synchronize()
    return device.elapsed_us(first, last) / FLUSHES

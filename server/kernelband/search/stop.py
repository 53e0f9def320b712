"""When a search ends, and the half sentence that says why.

The budget ends every search, and so does having nothing left to try. A search that was given seconds only (or nothing: a person's minute)
also ends when there is little to win: launching the original takes longer than its work, the leader is near the speed of light on every
timing case, or nothing was gained for a long time. Who says ``--trials N`` asked for N trials, and gets them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import frozen

from kernelband.hardware import Device
from kernelband.hardware.forecast import launch_bound
from kernelband.hardware.roofline import roofline
from kernelband.hardware.units import duration
from kernelband.hardware.work import Work
from kernelband.history.records import PullRow
from kernelband.search.budget import Budget
from kernelband_worker.wire import Case

PATIENCE = 20  # trials without a new leader: as many as the benchmark gives to a whole search
SHORT = 1.4  # of a launch that does nothing, up to which no device time was seen to become clearly shorter (H200: 3.7 µs no, 4.9 µs yes)
LIGHT = 90.0  # percent of the speed of light, on the timing case that is farthest from it

NOTHING_LEFT = "nothing is left to try"

#: Steps of the clock whose name alone doesn't say what took the time.
LONG = {
    "start": "starting the worker",
    "capture": "recording the program's calls",
    "baseline": "compiling and measuring the original",
    "waiting": "compiling candidates",
    "propose": "writing candidates",
    "other": "everything else",
}


@frozen
class Progress:
    """``spent``: trials as the budget counts them. ``leader``: the best variant, its number is that of its trial; 0 is the original.
    ``light``: percent of the speed of light that it reaches, the least over timing cases; None where that is unknown. ``launches``: of the
    original, that launching it takes longer than its work (``only_launches``).
    """

    trials: int
    spent: int
    leader: int
    light: float | None = None
    launches: str = ""


def why_stop(budget: Budget, progress: Progress, reserve: float, *, final: bool = True) -> str:
    """The reason to stop now, empty when there is none; ``reserve`` are the seconds that the final needs, or, where there is no ``final``,
    those without which the next trial would end too late.
    """
    if budget.trials is not None and progress.spent >= budget.trials:
        return f"the {budget.trials} trials are used up" if budget.trials > 1 else "the one trial is used up"
    if not budget.allows(progress.spent, reserve):
        kept = f", {reserve:.0f} s of them kept for the final" if final and reserve >= 1 else ""
        return f"the {budget.seconds:g} s are used up{kept}"
    if budget.trials is not None:
        return ""
    if progress.launches and not progress.trials:
        return progress.launches
    if progress.light is not None and progress.light >= LIGHT:
        who = f"variant {progress.leader}" if progress.leader else "the original"
        return f"{who} reaches {progress.light:.0f} % of the speed of light or more on every timing case"
    if progress.trials - progress.leader >= PATIENCE:
        return f"no gain in the last {progress.trials - progress.leader} trials"
    return ""


def percent_of_light(device: Device, timing: Sequence[Case], before: Sequence[Work], device_us: Mapping[str, float]) -> float | None:
    """Percent of the speed of light that measured device times reach, the least over timing cases; None when it is unknown for one.

    Compulsory bytes at full memory rate, or the original's matrix products at the tensor cores' full rate, whichever takes longer. Other
    arithmetic is left out: a better algorithm may save it.
    """
    reached: list[float] = []
    for case in timing:
        took, least = device_us.get(case["id"]), case["compulsory_bytes"]
        if took is None or least is None:
            return None
        dots: dict[str, float] = {}
        for work in before:
            if work.case == case["id"] and work.dot_flops:
                dtype = work.dtype or "float16"
                dots[dtype] = dots.get(dtype, 0.0) + work.dot_flops
        reached.append(roofline(device, least, dot_flops=dots).percent(took))
    return min(reached, default=None)


def only_launches(device: Device, timing: Sequence[Case], before: Sequence[Work], device_us: Mapping[str, float]) -> str:
    """That launching the original takes longer than its work on every timing case, in half a sentence; empty where it doesn't, or where too
    little is known.

    Args:
        device: that it runs on, or is predicted for.
        timing: the cases that are timed.
        before: the original's launches.
        device_us: its measured device time by case; empty where nothing was measured.
    """
    by_case = {case["id"]: [work for work in before if work.case == case["id"]] for case in timing}
    if not by_case or not all(own and all(launch_bound(device, work) for work in own) for own in by_case.values()):
        return ""
    if device_us and not all(device_us.get(case, float("inf")) < SHORT * device.launch_us * len(own) for case, own in by_case.items()):
        return ""
    return (
        f"launching it takes about {duration(device.launch_us)}, longer than its work on every timing case, so no variant could be clearly "
        "faster: name an entry with larger inputs, or a number of trials to search all the same"
    )


def why_nothing(counts: Mapping[str, int], pulls: Sequence[PullRow], clock: Mapping[str, float]) -> str:
    """Why a run tried nothing: of no proposal, of none that compiles (and what most of them failed by), or of what took its time."""
    if not counts.get("proposed"):
        return "no strategy has a move for this kernel"
    failed = [pull.reason for pull in pulls if pull.outcome in ("compile_error", "oom")]
    if counts.get("compiled") or not failed:
        return longest(clock)
    (reason, times), *_ = Counter(failed).most_common(1)
    many = f"none of {len(failed)} proposals compiles, {times} of them" if len(failed) > 1 else "the one proposal doesn't compile,"
    return f"{many} because: {reason.rstrip('.')}"


def longest(clock: Mapping[str, float]) -> str:
    """What took the time of a run that tried nothing: its steps of a tenth of it and more, the longest first."""
    least = sum(clock.values()) / 10
    steps = sorted(((seconds, step) for step, seconds in clock.items() if seconds >= least), reverse=True)
    return ", ".join(f"{LONG.get(step, step)} took {seconds:.0f} s" for seconds, step in steps)

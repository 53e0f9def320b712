"""What a call takes beside the kernel that is optimized: other kernels, and the waits of a host function that reads their results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kernelband_worker.wire import Case

MOSTLY = 0.8  # of a call: where the kernel has less, what takes the rest is said


def others_us(timing: Sequence[Case], device_us: Mapping[str, float], waiting: Collection[str] = ()) -> dict[str, float]:
    """What a call takes in other kernels and in waiting, by case; not of calls with other Triton kernels, whose work is counted, too.

    Args:
        timing: cases that are timed.
        device_us: what a call of each takes.
        waiting: those that are measured by the wall clock, for their calls wait for the device.
    """
    alone = [c for c in timing if all(x["target"] for x in c["launches"])]
    own = {c["id"]: us for c in alone if (us := _own_us(c, device_us[c["id"]], waiting)) is not None}
    return {case: device_us[case] - us for case, us in own.items()}


def _own_us(case: Case, us: float, waiting: Collection[str]) -> float | None:
    """What the kernel has of a call; None where that isn't known."""
    share = case.get("target_share")
    return _works_us(case, us, waiting) * share if share else None


def _works_us(case: Case, us: float, waiting: Collection[str]) -> float:
    """What the device works in a call: all of its time, or what was seen at capture where the clock counts waits, too."""
    seen = case["device_us"] if case["id"] in waiting else None
    return us if seen is None else min(us, seen)


def beside(
    timing: Sequence[Case], device_us: Mapping[str, float], waiting: Collection[str], searched: Collection[str] = ()
) -> Iterator[str]:
    """A sentence about the case of whose calls the kernel has least, where that isn't most of it. ``searched``: others that are, too."""
    shares = [(own / us, c) for c in timing if (us := device_us.get(c["id"], 0.0)) and (own := _own_us(c, us, waiting)) is not None]
    share, case = min(shares, key=lambda x: x[0], default=(1.0, None))
    if case is None or share > MOSTLY:
        return
    us, triton = device_us[case["id"]], [x["kernel"]["qualname"] for x in case["launches"] if not x["target"]]
    others = ", ".join(dict.fromkeys([*triton, *map(_short, case["other_kernels"])]))
    host = case["function"]["qualname"]
    if case["id"] in waiting:
        works = f"the device works {_works_us(case, us, waiting):.0f} µs{f', also for others ({others})' if others else ''}"
        yield (
            f"{share:.0%} of the {us:.0f} µs of a call by the wall clock are this kernel's: {works}, and {host} waits for it "
            f"(by .item(), say) or works where events don't see it. A faster kernel alone gains {1.0 / (1.0 - share):.2f}× at most."
        )
        return
    together = f", so {' and '.join(searched)} {'are' if len(searched) > 1 else 'is'} searched with it" if searched else ""
    yield (
        f"{share:.0%} of the {us:.0f} µs on the device are this kernel's, the rest is others' that {host} runs"
        f"{f' ({others})' if others else ''}: a faster kernel alone gains {1.0 / (1.0 - share):.2f}× at most{together}."
    )


def _short(kernel: str) -> str:
    """``elementwise_kernel`` of ``void at::native::elementwise_kernel<128, 4, ...>(...)``; all of what isn't like that."""
    words = kernel.replace("(anonymous namespace)::", "").replace("<unnamed>::", "").partition("<")[0].partition("(")[0].split()
    return (words[-1].rpartition("::")[2] if words else "") or kernel

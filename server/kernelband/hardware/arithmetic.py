"""What a launch computes, in seconds of the units that compute it: matrix products, other instructions, special functions.

A multiprocessor has units of its own for matrix products, for ordinary float32 instructions and for special functions (base-2 exponential
and logarithm, reciprocal, roots). Ordinary instructions and special functions of a program are mixed by the compiler, and go on at the same
time; a product and what is computed from it follow each other, and only another program can use the other unit meanwhile.

What a function costs. NVIDIA: what Triton 3.6 and 3.9 compile for sm_80, 89, 90, 100 and 120, the same for all but an instruction or two:
an exponential is one special operation and four instructions around it that handle base and denormal numbers, exp2 the special operation
alone, a logarithm a polynomial. AMD: the same for gfx942. Straight-line functions are compiled again by
tests/unit_worker/compiler/test_functions.py; of those with branches every path counts that usual arguments take.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from kernelband.hardware.device import Device
from kernelband.hardware.roofline import tensor_rate
from kernelband.hardware.work import Work


@frozen
class Cost:
    """Of one evaluation in one lane; ``instructions`` count the special ones too: each takes its turn to be issued."""

    special: float
    instructions: float


_NVIDIA: Mapping[str, Cost] = {
    "exp": Cost(1, 5),
    "exp2": Cost(1, 1),
    "log": Cost(0, 26),
    "log2": Cost(0, 28),
    "sqrt": Cost(1, 1),
    "rsqrt": Cost(1, 1),
    "div": Cost(1, 5),
    "sqrt_rn": Cost(1, 10),
    "div_rn": Cost(1, 7),
    "sin": Cost(1, 27),
    "cos": Cost(1, 27),
    "fmod": Cost(1, 45),
    "erf": Cost(1, 29),
    "libdevice.exp": Cost(1, 9),
    "libdevice.fast_expf": Cost(1, 2),
    "libdevice.fast_dividef": Cost(1, 2),
    "libdevice.rsqrt": Cost(1, 1),
    "libdevice.sqrt": Cost(1, 1),
    "libdevice.log": Cost(0, 26),
    "libdevice.tanh": Cost(2, 24),
    "libdevice.pow": Cost(2, 120),
}
_AMD: Mapping[str, Cost] = {
    **_NVIDIA,
    "exp": Cost(1, 8),
    "log": Cost(1, 12),
    "log2": Cost(1, 7),
    "div": Cost(1, 8),
    "div_rn": Cost(1, 8),
    "fmod": Cost(1, 70),
    "erf": Cost(1, 33),
    "libdevice.exp": Cost(1, 14),
    "libdevice.rsqrt": Cost(1, 7),
    "libdevice.sqrt": Cost(1, 16),
    "libdevice.log": Cost(1, 12),
    "libdevice.tanh": Cost(2, 40),
}
#: Of a function that isn't listed: what most of libdevice's take.
_OTHER = Cost(1, 25)
_OWN_INSTRUCTION = {90: "wgmma", 100: "tcgen05", 103: "tcgen05", "gfx942": "mfma", "gfx950": "mfma"}


def cost(device: Device, function: str) -> Cost:
    """Of one evaluation of a function, by the name that ``LaunchFacts.functions`` has for it."""
    return (_AMD if device.backend == "hip" else _NVIDIA).get(function, _OTHER)


@frozen
class Compute:
    """Seconds of each unit at its full rate, of the whole launch."""

    tensor: float
    arithmetic: float
    special: float

    def together(self, programs: int) -> float:
        """With so many programs at once on a multiprocessor, whose products and other work take turns.

        The longer of both, and of the shorter what no other program hides: all of it with one program, 1 / n of it with n. That is what two
        queues with n customers give whose times scatter (mean value analysis): exactly so where both take as long.
        """
        other = max(self.arithmetic, self.special)
        return max(self.tensor, other) + min(self.tensor, other) / max(programs, 1)


def compute(device: Device, work: Work, *, functions: bool = True) -> Compute:
    """Of one launch. Products that no tensor core computes are ordinary arithmetic. Where functions weren't counted, in runs from before
    they were, operations stand for instructions, at the full rate of multiply-adds; so too with ``functions`` False, for comparing.
    """
    plain = 0.0 if work.facts["tensor_core"] else (work.dot_flops or 0.0) / device.fp32_flops
    counted = instructions(device, work) if functions else None
    if counted is None:
        return Compute(_tensor_seconds(device, work), plain + (work.flops or 0.0) / device.fp32_flops, 0.0)
    return Compute(
        _tensor_seconds(device, work), plain + counted / device.instructions_per_s, (special(device, work) or 0.0) / device.special_per_s
    )


def instructions(device: Device, work: Work) -> float | None:
    """Of one lane outside products, special ones included; None where they weren't counted."""
    if work.arithmetic is None or work.functions is None:
        return None
    return work.arithmetic + sum(count * cost(device, name).instructions for name, count in work.functions.items())


def special(device: Device, work: Work) -> float | None:
    """Special functions of one lane; None where they weren't counted."""
    if work.functions is None:
        return None
    return sum(count * cost(device, name).special for name, count in work.functions.items())


def special_names(device: Device, work: Work) -> tuple[str, ...]:
    """Which functions of a launch take special operations, the most frequent first, as people call them."""
    found = sorted((work.functions or {}).items(), key=lambda item: -item[1] * cost(device, item[0]).special)
    names = (name.removeprefix("libdevice.") for name, count in found if count and cost(device, name).special)
    return tuple(dict.fromkeys("division" if name.startswith("div") else name for name in names))


def _tensor_seconds(device: Device, work: Work) -> float:
    kind = work.facts["tensor_core"]
    if not work.dot_flops or kind is None:
        return 0.0
    own = _OWN_INSTRUCTION.get(device.arch, "mma")
    strength = (1.0 if kind == own else 0.6) * (0.5 if work.serialized else 1.0)
    return work.dot_flops / (tensor_rate(device, work.dtype or "float16") * strength)

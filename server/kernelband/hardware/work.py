"""One launch as prediction sees it: what the compiler says of its code, joined with what the interpreter saw it do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import frozen

from kernelband.hardware.device import Device
from kernelband.hardware.occupancy import Occupancy, Waves, occupancy, waves
from kernelband_worker.wire import Case, CompileFacts, LaunchFacts, LaunchSpec

_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
#: Bytes that a thread fetches at once, at most: four wide loads. Of 32 to 128 this ranks what was recorded on an H200 best
#: (``benchmarks/forecast.py``).
MOST_AT_ONCE = 64
LONG = 5  # launches
CLEARLY = 0.75  # of the bytes of its tensors: a launch that touches less doesn't need them all
#: Operand dtypes of matrix products, narrowest first; float32 operands are computed in tf32 unless the kernel says otherwise.
_OPERANDS = (("float8", "float8"), ("bfloat16", "bfloat16"), ("float16", "float16"), ("float32", "tf32"), ("int8", "int8"))


@frozen
class Work:
    """A launch. Bytes and operations are of the whole grid; None where nothing is known.

    ``moved_bytes`` go through the caches, an element as often as the machine code asks for it; ``dram_bytes`` is the least that memory
    must move. ``sectors`` is what accesses touch over the least they could (1 is fully coalesced). ``arithmetic`` and ``functions`` are
    those of ``LaunchFacts``; both None in runs that didn't count them.
    """

    case: str
    kernel: str
    facts: CompileFacts
    programs: int
    dram_bytes: float | None = None
    moved_bytes: float | None = None
    flops: float | None = None
    dot_flops: float | None = None
    dtype: str | None = None
    sectors: float | None = None
    arithmetic: float | None = None
    functions: dict[str, float] | None = None

    def occupancy(self, device: Device) -> Occupancy:
        """Of this launch's code."""
        return occupancy(device, self.facts["registers"] or 0, self.facts["shared_bytes"], self.facts["num_warps"])

    def waves(self, device: Device) -> Waves:
        """Of this launch's grid."""
        return waves(device, self.programs, self.occupancy(device).programs)

    @property
    def bits(self) -> float | None:
        """Mean width of a thread's global accesses, weighted by what they move; None when it has none."""
        found = [(a["bits"], a["count"]) for a in self.facts["accesses"] if a["space"] == "global"]
        moved = sum(bits * count for bits, count in found)
        return sum(bits * bits * count for bits, count in found) / moved if moved else None

    @property
    def loads_in_flight(self) -> int:
        """Global loads in one thread's text, at least 1: independent ones wait for memory together."""
        return max(1, sum(a["count"] for a in self.facts["accesses"] if a["space"] == "global" and not a["store"]))

    def starting_s(self, device: Device) -> float:
        """Seconds that starting the programs takes, one after the other; 0 where that is less than a few launches: in so little time
        threads wait for what no fact tells.
        """
        seconds = self.programs / device.programs_per_s
        return seconds if seconds >= LONG * device.launch_us * 1e-6 else 0.0

    def in_flight(self, device: Device) -> float:
        """Bytes that can be on their way to a multiprocessor: of the programs that it holds at once, if there are so many, each thread's
        loads of the line that loads most. Lines of other loops aren't waited for together.
        """
        by_line: Counter[tuple[str | None, int | None]] = Counter()
        for a in self.facts["accesses"]:
            if a["space"] == "global" and not a["store"]:
                by_line[a["path"], a["line"]] += a["count"] * a["bits"] // 8
        each = min(max(by_line.values(), default=MOST_AT_ONCE), MOST_AT_ONCE)  # bulk copies are no loads of threads
        return self.beside(device) * self.facts["num_warps"] * device.warp_size * each

    def beside(self, device: Device) -> float:
        """Programs at once on a multiprocessor: those that fit, if the grid has so many; at least one."""
        return max(1.0, min(self.occupancy(device).programs, self.programs / device.multiprocessors))

    @property
    def serialized(self) -> bool:
        """Whether its tensor-core instructions wait for each other."""
        return any(w["code"] == "wgmma-serialized" for w in self.facts["warnings"])


def works(
    specs: Sequence[LaunchSpec],
    facts: Mapping[str, CompileFacts],
    cases: Sequence[Case],
    launches: Mapping[str, Sequence[LaunchFacts]] | None = None,
) -> tuple[Work, ...]:
    """Every launch of ``specs`` (of operation specialise) whose code is known.

    Args:
        specs: launches in order, case by case.
        facts: by the key of the spec.
        cases: the cases that the specs are of.
        launches: traffic by case id, in launch order. None: the program's own, from its capture; for a variant pass what the check of it
            counted, or an empty mapping when nothing was.
    """
    by_case = {case["id"]: case for case in cases}
    numbers = Counter(spec["case"] for spec in specs)
    seen: dict[str, int] = {}
    out: list[Work] = []
    for spec in specs:
        case = by_case.get(spec["case"])
        number = seen.get(spec["case"], 0)
        seen[spec["case"]] = number + 1
        if case is None or spec["key"] not in facts:
            continue
        counted = case["launches"] if launches is None else launches.get(case["id"], ())
        traffic = counted[number] if number < len(counted) and _same(counted[number], spec) else None
        own = _own(case, spec, number)
        least = _least_of(case, own) if own is not None and numbers[spec["case"]] == len(case["launches"]) else None
        out.append(_work(spec, facts[spec["key"]], traffic, own, least))
    return tuple(out)


def _same(launch: LaunchFacts, spec: LaunchSpec) -> bool:
    return launch["kernel"]["qualname"] == spec["kernel"]["qualname"]


def _own(case: Case, spec: LaunchSpec, number: int) -> LaunchFacts | None:
    """The capture's launch with that number: shapes and dtypes of a variant's launch are nearly always those of the original's."""
    launches = case["launches"]
    return launches[number] if number < len(launches) and _same(launches[number], spec) else None


def _least_of(case: Case, own: LaunchFacts) -> float | None:
    """What memory must move for a launch of the original, and so for the same launch of every variant: a variant computes the same, and
    its own count of sampled programs must not make more or less of it.

    The compulsory bytes, unless the launch clearly touches less of its tensors (counts of sampled programs are off by some percent).
    """
    compulsory = case["compulsory_bytes"] if len(case["launches"]) == 1 else None
    touched = own.get("unique_bytes")
    if touched is None:
        touched = _sum(own["loads_bytes"], own["stores_bytes"])
    if compulsory is not None and (touched is None or touched >= CLEARLY * compulsory):
        return float(compulsory)
    return _smallest(compulsory, touched, _tensor_bytes(own))


def _work(spec: LaunchSpec, facts: CompileFacts, traffic: LaunchFacts | None, own: LaunchFacts | None, least: float | None) -> Work:
    moved = _sum(traffic["loads_bytes"], traffic["stores_bytes"]) if traffic else None
    if moved is not None and traffic is not None:
        moved -= _merged(facts, traffic)
    if least is None or (moved is not None and moved < CLEARLY * least):
        least = _smallest(least, moved, traffic.get("unique_bytes") if traffic else None, _tensor_bytes(own) if own else None)
    return Work(
        case=spec["case"],
        kernel=spec["kernel"]["qualname"],
        facts=facts,
        programs=math.prod(spec["grid"]),
        dram_bytes=least,
        moved_bytes=moved,
        flops=traffic["flops"] if traffic else None,
        dot_flops=traffic["dot_flops"] if traffic else None,
        dtype=operand_dtype(own or traffic),
        sectors=traffic["sectors_per_request"] if traffic else None,
        arithmetic=traffic.get("arithmetic") if traffic else None,
        functions=_floats(traffic.get("functions")) if traffic else None,
    )


def _merged(facts: CompileFacts, traffic: LaunchFacts) -> int:
    """Bytes of loads that the source has and the machine code hasn't: the compiler keeps what an earlier line loaded.

    The interpreter runs the source as it stands. 0 unless the machine code says for each of its loads on which line it is.
    """
    loads = [a for a in facts["accesses"] if a["space"] == "global" and not a["store"]]
    lines = {(a["path"], a["line"]) for a in loads}
    seen = [x for x in traffic.get("lines", []) if x["kind"] == "load"]
    if not loads or any(a["line"] is None for a in loads) or not lines <= {(x["path"], x["line"]) for x in seen}:
        return 0
    return sum(x.get("moved_bytes", 0) for x in seen if (x["path"], x["line"]) not in lines)


def _smallest(*counts: float | None) -> float | None:
    known = [float(count) for count in counts if count]
    return min(known) if known else None


def _floats(counts: Mapping[str, int] | None) -> dict[str, float] | None:
    return None if counts is None else {name: float(count) for name, count in counts.items()}


def _sum(first: int | None, second: int | None) -> float | None:
    return None if first is None or second is None else float(first + second)


def _tensor_bytes(launch: LaunchFacts) -> int:
    """Of every tensor once; of several views of a storage the largest."""
    out: dict[int, int] = {}
    for tensor in launch["tensors"].values():
        size = math.prod(tensor["shape"]) * _BYTES.get(tensor["dtype"], 1)
        out[tensor["storage"]] = max(out.get(tensor["storage"], 0), size)
    return sum(out.values())


def operand_dtype(launch: LaunchFacts | None) -> str | None:
    """In which the launch's matrix products are computed: that of its narrowest floating-point tensor."""
    dtypes = {tensor["dtype"] for tensor in launch["tensors"].values()} if launch else set[str]()
    return next((rate for prefix, rate in _OPERANDS if any(d.startswith(prefix) for d in dtypes)), None)

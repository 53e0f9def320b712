"""Inspection: a kernel's launches, compiled for GPUs that need not be there, with everything that can be said of them without running."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, cast

from attrs import evolve, field, frozen

from kernelband.errors import KernelBandError
from kernelband.explain.bottleneck import Bottleneck, bottleneck, bound
from kernelband.explain.linecosts import LineCost, line_costs
from kernelband.hardware import Device
from kernelband.hardware.occupancy import Occupancy, Waves
from kernelband.hardware.roofline import Roofline
from kernelband.hardware.work import Work, works
from kernelband_worker.wire import CaptureResult, Case, CompileFacts, LaunchSpec, LineTraffic, SpecialiseResult, Warning_

COMPILE_S = 120.0
UNCOALESCED = 2.0  # sectors touched over the fewest possible
#: The first group with a fitting root wins: LDGSTS stands before LDG, REDUX before RED.
_GROUPS: tuple[tuple[str, str], ...] = (
    ("tensor core", "HGMMA QGMMA IGMMA BGMMA HMMA IMMA QMMA OMMA DMMA UTCHMMA UTCQMMA UTCIMMA UTCOMMA v_mfma v_smfmac"),
    ("wait or barrier", "BAR WARPSYNC SYNCS WARPGROUP DEPBAR LDGDEPBAR UTCBAR s_barrier s_waitcnt"),
    ("copy global to shared", "LDGSTS UTMALDG UBLKCP"),
    ("global load", "LDG global_load buffer_load flat_load"),
    ("global store", "STG UTMASTG global_store buffer_store flat_store"),
    ("shuffle", "SHFL REDUX ds_bpermute ds_swizzle v_permlane"),
    ("atomic", "ATOM RED global_atomic buffer_atomic ds_atomic"),
    ("shared memory", "LDS STS STSM ds_read ds_write ds_load ds_store"),
    ("spill", "LDL STL scratch_"),
    ("special function", "MUFU v_exp v_log v_rcp v_rsq v_sqrt v_sin v_cos"),
    ("float", "FADD FMUL FFMA FMNMX FSEL FSETP HADD2 HMUL2 HFMA2 HMNMX2 F2F F2FP v_add_f v_mul_f v_fma v_max_f v_min_f v_pk_ v_cvt"),
    ("branch", "BRA BSSY BSYNC EXIT RET CALL s_branch s_cbranch s_endpgm"),
)


class Pool(Protocol):
    """What compiles: worker.pool.CompilePool."""

    def submit(self, params: Mapping[str, Any], *, operation: str = ..., deadline_s: float = ...) -> Future[dict[str, Any]]:
        """Queue one compile operation."""
        ...


@frozen
class Seen:
    """What compiled code and captured traffic say of one launch on one GPU. ``roofline`` is None where its bytes aren't known."""

    facts: CompileFacts = field(repr=False)
    work: Work = field(repr=False)
    occupancy: Occupancy
    waves: Waves
    roofline: Roofline | None
    bottleneck: Bottleneck
    warnings: tuple[Warning_, ...]
    lines: tuple[LineCost, ...] = field(default=(), repr=False)

    @property
    def mix(self) -> dict[str, int]:
        """Machine instructions by what they do."""
        return instruction_mix(self.facts["opcodes"])

    @property
    def widths(self) -> dict[str, str]:
        """Widths of global accesses by direction."""
        return access_widths(self.facts)


@frozen
class Inspection:
    """One specialisation of a kernel on one GPU: ``seen``, or ``error`` with the reason why not. Nothing in it is measured."""

    kernel: str
    path: str
    device: Device
    case: str
    arguments: str
    spec: LaunchSpec = field(repr=False)
    seen: Seen | None = None
    error: str | None = None


def inspect(
    cases: Sequence[Case],
    devices: Sequence[Device],
    specialise: Callable[[Sequence[str]], SpecialiseResult],
    pool: Pool,
    *,
    captured: CaptureResult | None = None,
    kernels: frozenset[str] | None = None,
    variant: str | None = None,
    deadline_s: float = COMPILE_S,
) -> Iterator[Inspection]:
    """Every distinct specialisation of the launches on every device, in order of launch, then device.

    Args:
        cases: captured cases; neighbours, made for checking only, are left out.
        devices: to compile for.
        specialise: calls operation specialise for those case ids, in an executor that can replay them.
        pool: compiles.
        captured: adds the out-of-bounds accesses that the interpreter found.
        kernels: qualnames; None: the kernels that the cases are about (``LaunchFacts.target``).
        variant: whose code; None: the original's.
        deadline_s: of each compilation; one that takes longer is killed and becomes an Inspection with an error.
    """
    cases = [c for c in cases if c.get("neighbour_of") is None]
    wanted = kernels or frozenset(x["kernel"]["qualname"] for c in cases for x in c["launches"] if x["target"])
    specs = [s for s in specialise([c["id"] for c in cases])["launches"] if s["kernel"]["qualname"] in wanted]
    chosen = _distinct(specs)
    jobs = [
        (spec, device, pool.submit(_params(spec, device, variant), operation="compile", deadline_s=deadline_s))
        for spec in chosen
        for device in devices
    ]
    for spec, device, future in jobs:
        yield _one(spec, device, future, cases, captured)


def _distinct(specs: Sequence[LaunchSpec]) -> list[LaunchSpec]:
    """One launch per key: that with the largest grid."""
    best: dict[str, LaunchSpec] = {}
    for spec in specs:
        held = best.get(spec["key"])
        if held is None or math.prod(spec["grid"]) > math.prod(held["grid"]):
            best[spec["key"]] = spec
    return list(best.values())


def _params(spec: LaunchSpec, device: Device, variant: str | None) -> dict[str, Any]:
    return {"variant": variant, "launch": spec, "target": device.target, "instructions": True}


def _one(
    spec: LaunchSpec, device: Device, future: Future[dict[str, Any]], cases: Sequence[Case], captured: CaptureResult | None
) -> Inspection:
    case = next(c for c in cases if c["id"] == spec["case"])
    name, path = spec["kernel"]["qualname"], spec["kernel"]["path"]
    about = Inspection(name, path, device, case["id"], case["arguments"], spec)
    try:
        facts = cast("CompileFacts", future.result())
    except KernelBandError as error:
        return evolve(about, error=error.message)
    only = _only(case, spec)
    (work,) = works([spec], {spec["key"]: facts}, [only])
    seen = Seen(
        facts=facts,
        work=work,
        occupancy=work.occupancy(device),
        waves=work.waves(device),
        roofline=bound(device, work),
        bottleneck=bottleneck(device, work),
        warnings=(*facts["warnings"], *traffic_warnings(cases, name), *out_of_bounds(captured["out_of_bounds"] if captured else ())),
        lines=line_costs(facts, next(iter(only["launches"]), None)),
    )
    return evolve(about, seen=seen)


def _only(case: Case, spec: LaunchSpec) -> Case:
    """The case with the launch of ``spec`` alone, so that its traffic is found whatever its number was. Compulsory bytes stay the case's
    when it was the only one.
    """
    same = [x for x in case["launches"] if x["specialization"] == spec["key"] and list(x["grid"]) == list(spec["grid"])]
    same = same or [x for x in case["launches"] if x["kernel"]["qualname"] == spec["kernel"]["qualname"]]
    alone = len(case["launches"]) == 1
    only: Case = {**case, "launches": same[:1], "compulsory_bytes": case["compulsory_bytes"] if alone else None}
    return only


# ---------------------------------------------------------------- warnings from the capture


def traffic_warnings(cases: Sequence[Case], kernel: str) -> tuple[Warning_, ...]:
    """Uncoalesced accesses and masks that never hide anything, over all cases. A mask that hid something once is needed."""
    lines: dict[tuple[str, int, str], list[LineTraffic]] = {}
    for case in cases:
        for launch in case["launches"]:
            if launch["kernel"]["qualname"] == kernel:
                for line in launch.get("lines", ()):
                    lines.setdefault((line["path"], line["line"], line["kind"]), []).append(line)
    out: list[Warning_] = []
    for (path, number, kind), seen in sorted(lines.items()):
        worst = max(s["sectors_ratio"] for s in seen)
        if worst >= UNCOALESCED:
            message = (
                f"This {kind} touches {worst:.2g} times the memory sectors that it needs: "
                "neighbouring threads should access neighbouring elements."
            )
            out.append({"code": "uncoalesced", "path": path, "line": number, "message": message})
        if all(s["masked"] and s["mask_always_true"] for s in seen):
            message = f"The mask of this {kind} hid no element in any program that was interpreted: with these sizes it isn't needed."
            out.append({"code": "mask-always-true", "path": path, "line": number, "message": message})
    return tuple(out)


def out_of_bounds(found: Sequence[Mapping[str, Any]]) -> tuple[Warning_, ...]:
    """What the interpreter's guard found, of ``CaptureResult``."""
    return tuple({"code": "out-of-bounds", "path": f["path"], "line": f["line"], "message": f["message"]} for f in found)


# ---------------------------------------------------------------- machine instructions


def instruction_mix(opcodes: Mapping[str, int]) -> dict[str, int]:
    """Counts of static instructions by group, the largest first; what belongs to none is ``integer and other``."""
    groups = [(name, tuple(roots.split())) for name, roots in _GROUPS]
    out: dict[str, int] = {}
    for opcode, count in opcodes.items():
        group = next((name for name, roots in groups if opcode.startswith(roots)), "integer and other")
        out[group] = out.get(group, 0) + count
    return dict(sorted(out.items(), key=lambda item: -item[1]))


def access_widths(facts: CompileFacts) -> dict[str, str]:
    """Widths of global accesses by direction, the widest first: ``{"loads": "16 B x4", "stores": "16 B x2"}``, static counts."""
    out: dict[str, str] = {}
    for title, store in (("loads", False), ("stores", True)):
        counts: dict[int, int] = {}
        for access in facts["accesses"]:
            if access["space"] == "global" and access["store"] == store:
                counts[access["bits"]] = counts.get(access["bits"], 0) + access["count"]
        if counts:
            out[title] = ", ".join(f"{bits // 8} B x{count}" for bits, count in sorted(counts.items(), reverse=True))
    return out

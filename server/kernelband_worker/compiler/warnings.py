"""Warnings that the compiler's output gives rise to, each tied to a line of the user's source."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from kernelband_worker.compiler.ttgir import Layout, Place
from kernelband_worker.wire import Access, LaunchSpec, Target, Warning_

WIDEST_BITS = 128  # the widest access of one thread

#: Shared memory that one program may have, in bytes (CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability",
#: maximum per thread block; AMD Instinct CDNA 3 and CDNA 4 ISA guides, LDS per workgroup).
SHARED_LIMITS: Dict[Any, int] = {
    80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448, 103: 232448, 120: 101376, 121: 101376,
    "gfx90a": 65536, "gfx942": 65536, "gfx950": 163840,
}  # fmt: skip
TENSOR_MEMORY_COLUMNS = 512  # of sm_100, per multiprocessor (PTX ISA, tcgen05.alloc)
THREADS_PER_PROGRAM = 1024


def shared_limit(target: Target, known: Optional[int]) -> Optional[int]:
    """Bytes of shared memory that a program may have: what the device reports, else the published limit; None when unknown."""
    return known if known else SHARED_LIMITS.get(target["arch"])


def spills(store_bytes: int, load_bytes: int, registers: Optional[int], place: Place) -> Warning_:
    """Registers didn't suffice."""
    return _warning(
        "spills",
        place,
        f"Registers spill to memory: {store_bytes} bytes stored and {load_bytes} bytes loaded per thread, at {registers} registers. "
        "Smaller blocks, more warps or fewer stages need fewer registers.",
    )


def serialized(reason: str, place: Place) -> Warning_:
    """Asynchronous tensor-core instructions wait for each other."""
    if "register" in reason and "insufficient" in reason:
        advice = "A smaller tile or more warps leave each thread enough registers."
    else:
        advice = "Keep the accumulator in one variable that only tl.dot writes inside the loop."
    message = f"Tensor-core instructions wait for each other: the assembler serializes wgmma due to {reason}. {advice}"
    return _warning("wgmma-serialized", place, message)


def unusable(
    shared: int, limit: Optional[int], num_warps: int, warp_size: int, *, tmem: int, layout: Layout, place: Place
) -> List[Warning_]:
    """Why the device would refuse to load or launch this code."""
    out: List[Warning_] = []
    if limit is not None and shared > limit:
        largest = layout.buffers[0] if layout.buffers else None
        where = largest[0] if largest else place
        share = f" The largest buffer, {largest[1]} bytes, is for this line." if largest else ""
        out.append(
            _warning(
                "shared-over-limit",
                where,
                f"A program needs {shared} bytes of shared memory and the device allows {limit}: it can't be launched.{share} "
                "Smaller blocks or fewer stages need less.",
            )
        )
    if num_warps * warp_size > THREADS_PER_PROGRAM:
        message = (
            f"{num_warps} warps are {num_warps * warp_size} threads and a program may have {THREADS_PER_PROGRAM}: it can't be launched."
        )
        out.append(_warning("threads-over-limit", place, message))
    if tmem > TENSOR_MEMORY_COLUMNS:
        message = f"A program needs {tmem} columns of tensor memory and the device has {TENSOR_MEMORY_COLUMNS}: it can't be launched."
        out.append(_warning("tensor-memory-over-limit", place, message))
    return out


def narrow(accesses: Sequence[Access], layout: Layout, threads: int, launch: LaunchSpec) -> List[Warning_]:
    """Lines where a thread moves less at once than it could.

    Warned of is what can be mended: under 32 bits at a time, or under 128 while an argument that isn't a multiple of 16 keeps the compiler
    from proving alignment. A thread that has only 32 bits to move, or a gather, gets no warning.
    """
    breakers = _unaligned(launch)
    possible: Dict[Place, float] = {}
    for move in layout.moves:
        if move.elements >= threads:
            possible[move.place] = max(possible.get(move.place, 0.0), move.thread_bits(threads))
    out: List[Warning_] = []
    for (place, store), bits in _narrowest(accesses, layout).items():
        ideal = min(float(WIDEST_BITS), possible.get(place, 0.0))
        if place not in possible or bits >= WIDEST_BITS or (bits >= 32 and (bits >= ideal or not breakers)):
            continue
        verb = "writes" if store else "reads"
        if bits >= ideal:
            cause = "that is all it has to move: a larger block or fewer warps give each thread more"
        elif breakers:
            cause = f"16 are possible where addresses are known to be aligned: {_listed(breakers)}"
        else:
            cause = "the compiler can't prove that neighbouring elements are contiguous and aligned"
        out.append(_warning("narrow-access", place, f"Each thread {verb} {_bytes(bits)} at a time; {cause}."))
    return sorted(out, key=lambda w: (w["path"], w["line"], w["message"]))


def _narrowest(accesses: Sequence[Access], layout: Layout) -> Dict[Tuple[Place, bool], int]:
    """Bits of the narrowest global access by line and direction; lines of inlined library functions at their caller."""
    out: Dict[Tuple[Place, bool], int] = {}
    for access in accesses:
        if access["space"] != "global" or access["path"] is None or access["line"] is None or "ATOM" in access["opcode"].upper():
            continue
        place = (access["path"], access["line"])
        key = (layout.user.get(place, place), access["store"])
        out[key] = min(out.get(key, access["bits"]), access["bits"])
    return out


def _unaligned(launch: LaunchSpec) -> List[str]:
    """Integer arguments that are no multiple of 16, with their values, and pointers that are not 16-byte aligned."""
    aligned = set(launch.get("aligned", []))
    out: List[str] = []
    for name, kind in launch["signature"].items():
        if name in aligned or not isinstance(kind, str):
            continue
        value = launch["scalars"].get(name)
        if kind.startswith("*"):
            out.append(f"{name} isn't 16-byte aligned")
        elif kind in ("i32", "i64") and isinstance(value, int) and value > 1:
            out.append(f"{name} = {value} is no multiple of 16")
    return out


def _listed(items: List[str]) -> str:
    shown = sorted(items, key=lambda item: "stride" not in item)[:3]  # strides decide alignment most often
    if len(items) > len(shown):
        return ", ".join(shown) + " and others"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _bytes(bits: int) -> str:
    return "1 byte" if bits == 8 else f"{bits // 8} bytes"


def _warning(code: str, place: Place, message: str) -> Warning_:
    return {"code": code, "path": place[0], "line": place[1], "message": message}

"""One compiled kernel, read: registers, spills, instructions, accesses, and the lines that they stand on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from kernelband_worker.compiler import amd, elf, machine_code, ptx, ptxas, ttgir, warnings
from kernelband_worker.sources import real_path
from kernelband_worker.wire import Access, LaunchSpec, LineCode, Target, Warning_

PTXAS_SECONDS = 120.0


@dataclass
class Reading:
    """Facts of one compiled kernel. Bytes are per thread but for ``shared_bytes``, per program."""

    code_hash: str
    shared_bytes: int
    num_warps: int
    num_stages: int
    num_ctas: int
    tensor_memory: int
    layout: ttgir.Layout
    place: ttgir.Place  # of the kernel
    registers: Optional[int] = None
    stack_bytes: Optional[int] = None
    spill_store_bytes: Optional[int] = None
    spill_load_bytes: Optional[int] = None
    serialized: Optional[str] = None
    tensor_core: Optional[str] = None
    opcodes: Dict[str, int] = field(default_factory=dict)
    accesses: List[Access] = field(default_factory=list)
    sites: Dict[str, Dict[Tuple[str, int], int]] = field(default_factory=dict)

    def warnings(self, launch: LaunchSpec, target: Target, limit: Optional[int]) -> List[Warning_]:
        """Every warning that the code itself gives rise to."""
        out: List[Warning_] = list(self._limits(target, limit))
        if self.spill_store_bytes or self.spill_load_bytes:
            spilling = self._site("STL", "LDL", "scratch_store") or self.place
            out.append(warnings.spills(self.spill_store_bytes or 0, self.spill_load_bytes or 0, self.registers, spilling))
        if self.serialized:
            dot = self.layout.dots[0] if self.layout.dots else self.place
            out.append(warnings.serialized(self.serialized, dot))
        out += warnings.narrow(self.accesses, self.layout, self.num_warps * target["warp_size"], launch)
        return out

    def unusable(self, target: Target, limit: Optional[int]) -> Optional[str]:
        """Why the device would refuse this code; None when it can be launched."""
        found = self._limits(target, limit)
        return found[0]["message"] if found else None

    def lines(self) -> List[LineCode]:
        """Instructions by line, the most first; those of a library function that one line of the user's calls belong to that line."""
        counts: Counter[ttgir.Place] = Counter()
        for places in self.sites.values():
            for place, count in places.items():
                counts[self.layout.user.get(place, place)] += count
        return [{"path": path, "line": line, "instructions": count} for (path, line), count in counts.most_common()]

    def _limits(self, target: Target, limit: Optional[int]) -> List[Warning_]:
        allowed = warnings.shared_limit(target, limit)
        size = target["warp_size"]
        return warnings.unusable(
            self.shared_bytes, allowed, self.num_warps, size, tmem=self.tensor_memory, layout=self.layout, place=self.place
        )

    def _site(self, *roots: str) -> Optional[ttgir.Place]:
        """The most frequent line of the opcodes that start with one of ``roots``, in the user's file where possible."""
        for opcode, places in self.sites.items():
            if opcode.startswith(roots):
                mapped = [self.layout.user.get(p, p) for p in places]
                return next((p for p in mapped if p[0] == self.place[0]), mapped[0])
        return None


def read(compiled: Any, launch: LaunchSpec, target: Target, log: str, instructions: bool) -> Reading:
    """Read ``compiled``. ``log`` is what ptxas printed while it was built, empty when it came from the cache.

    Raises:
        tools.ToolError: a tool is missing or failed.
        elf.NotElfError: the binary can't be read.
    """
    meta = compiled.metadata
    layout = ttgir.parse(compiled.asm["ttgir"])
    own = launch["kernel"]["path"]
    place = (own, layout.kernel[1] if layout.kernel else 1)
    binary = compiled.asm["cubin" if target["backend"] == "cuda" else "hsaco"]
    fixed = [
        getattr(meta, name, None) for name in ("shared", "num_warps", "num_ctas", "tmem_size", "launch_cooperative_grid", "launch_pdl")
    ]
    cluster = getattr(meta, "cluster_dims", None)
    reading = Reading(
        code_hash=elf.code_hash(binary, target["arch"], *fixed, tuple(cluster) if cluster else None),
        shared_bytes=int(meta.shared),
        num_warps=int(meta.num_warps),
        num_stages=int(meta.num_stages),
        num_ctas=int(meta.num_ctas),
        tensor_memory=int(getattr(meta, "tmem_size", None) or 0),
        layout=layout,
        place=place,
    )
    if target["backend"] == "cuda":
        _cuda(reading, compiled, int(target["arch"]), log, instructions)
    else:
        _hip(reading, compiled.asm["amdgcn"])
    _own_paths(reading, own)
    return reading


def _cuda(reading: Reading, compiled: Any, arch: int, log: str, instructions: bool) -> None:
    code = compiled.asm["ptx"]
    used = machine_code.resources(compiled.asm["cubin"])
    reading.registers, reading.stack_bytes = used.registers, used.stack_bytes
    reading.tensor_core = ptx.tensor_core(code)
    report = ptxas.parse(log)
    if report is None and used.stack_bytes == 0 and reading.tensor_core != "wgmma":
        reading.spill_store_bytes = reading.spill_load_bytes = 0  # spills live on the stack: none without one
    else:
        if report is None:
            report = ptxas.report(code, arch, compiled.metadata, PTXAS_SECONDS)
        reading.spill_store_bytes, reading.spill_load_bytes = report.spill_store_bytes, report.spill_load_bytes
        reading.serialized = report.serialized
    if instructions:
        found = machine_code.disassemble(compiled.asm["cubin"])
        reading.opcodes, reading.accesses, reading.sites = found.opcodes, found.accesses, found.sites
        _mend_lines(reading.accesses, ptx.shifted_lines(code))
    else:
        reading.accesses = ptx.accesses(code)


def _mend_lines(accesses: List[Access], shifted: Dict[Tuple[str, int, bool], ttgir.Place]) -> None:
    for access in accesses:
        true = shifted.get((access["path"] or "", access["line"] or 0, access["store"])) if access["space"] == "global" else None
        if true is not None:
            access["path"], access["line"] = true


def _hip(reading: Reading, text: str) -> None:
    code = amd.parse(text)
    reading.registers, reading.stack_bytes, reading.tensor_core = code.registers, code.stack_bytes, code.tensor_core
    reading.spill_store_bytes = reading.spill_load_bytes = 4 * code.spilled_registers
    reading.opcodes, reading.accesses, reading.sites = code.opcodes, code.accesses, code.sites


def _own_paths(reading: Reading, own: str) -> None:
    """The user's real paths. The debug information names the file that the code was first compiled from: an equal kernel may have come from
    another one, and the texts of variants have marked names.
    """
    recorded = reading.layout.kernel[0] if reading.layout.kernel else own

    def mend(place: ttgir.Place) -> ttgir.Place:
        return (own if place[0] == recorded else real_path(place[0]), place[1])

    old = reading.layout
    moves = [ttgir.Move(mend(m.place), m.elements, m.element_bits, m.store) for m in old.moves]
    user = {mend(inner): mend(outer) for inner, outer in old.user.items()}
    buffers = [(mend(p), size) for p, size in old.buffers]
    reading.layout = ttgir.Layout(mend((recorded, reading.place[1])), moves, [mend(p) for p in old.dots], buffers, user)
    for opcode, places in reading.sites.items():
        counts: Counter[ttgir.Place] = Counter()
        for found, count in places.items():
            counts[mend(found)] += count
        reading.sites[opcode] = dict(counts.most_common())
    for access in reading.accesses:
        if access["path"] is not None:
            access["path"] = mend((access["path"], 0))[0]

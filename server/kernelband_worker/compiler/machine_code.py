"""NVIDIA machine code: registers from cuobjdump, instruction mix and per-line accesses from nvdisasm."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from kernelband_worker.compiler import tools
from kernelband_worker.wire import Access

TOOL_SECONDS = 30.0

_RESOURCES = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_SOURCE_LINE = re.compile(r'^\s*//## File "([^"]+)", line (\d+)')
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")
_SPACES = {"LDG": "global", "STG": "global", "LDGSTS": "global", "LDS": "shared", "STS": "shared", "LDSM": "shared", "STSM": "shared"}
_SPACES.update({"LDL": "local", "STL": "local", "RED": "global", "REDG": "global", "ATOMG": "global", "ATOM": "global"})
_BULK = {"UTMALDG", "UTMASTG", "UBLKCP"}  # one thread moves a whole tile


@dataclass(frozen=True)
class Resources:
    registers: int
    stack_bytes: int


@dataclass(frozen=True)
class Disassembly:
    """``sites`` counts the instructions of each opcode by line, the most first: where spills or tensor-core instructions stand."""

    opcodes: Dict[str, int]
    accesses: List[Access]
    sites: Dict[str, Dict[Tuple[str, int], int]]


def resources(cubin: bytes) -> Resources:
    """Registers and stack bytes per thread (2-5 ms).

    Raises:
        tools.ToolError: cuobjdump is missing or fails.
    """
    done = _on_file("cuobjdump", ["--dump-resource-usage"], cubin)
    found = _RESOURCES.findall(done)
    if not found:
        raise tools.ToolError("cuobjdump printed no resource usage that could be read.")
    return Resources(max(int(f[0]) for f in found), max(int(f[1]) for f in found))


def disassemble(cubin: bytes) -> Disassembly:
    """Instruction mix and accesses (about 0.25 s, nearly all of it nvdisasm's start).

    Raises:
        tools.ToolError: nvdisasm is missing or fails.
    """
    return parse(_on_file("nvdisasm", ["-g", "-c"], cubin))


def _on_file(tool: str, flags: List[str], cubin: bytes) -> str:
    handle, path = tempfile.mkstemp(suffix=".cubin", prefix="kernelband-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(cubin)
        return tools.run([tools.tool_path(tool), *flags, path], TOOL_SECONDS).stdout
    finally:
        os.unlink(path)


def access_bits(opcode: str) -> Optional[int]:
    """Bits that one thread moves: ``LDG.E.128`` -> 128, ``LDG.E.U16`` -> 16, ``LDS`` -> 32. None when it is no access."""
    parts = opcode.split(".")
    if parts[0] in _BULK:
        return 128  # counted as the widest: the copy engine moves whole lines
    if parts[0] in ("LDSM", "STSM"):
        # ldmatrix .x1/.x2/.x4: 8x8 matrices of 16-bit elements, one 32-bit register per thread and matrix.
        return 32 * int(next((p for p in parts if p in ("2", "4")), "1"))
    if parts[0] not in _SPACES:
        return None
    for part in parts[1:]:
        if part in ("8", "U8", "S8"):
            return 8
        if part in ("16", "U16", "S16"):
            return 16
        if part in ("64", "128", "256"):
            return int(part)
    return 32


def parse(text: str) -> Disassembly:
    """Read ``nvdisasm -g -c``. Lines are those of the innermost function: see ttgir.Places for inlined helpers."""
    opcodes: Counter[str] = Counter()
    at: Optional[Tuple[str, int]] = None
    counted: Counter[Tuple[str, Optional[Tuple[str, int]]]] = Counter()
    sites: Dict[str, Counter[Tuple[str, int]]] = {}
    for line in text.splitlines():
        place = _SOURCE_LINE.match(line)
        if place:
            at = (place.group(1), int(place.group(2)))
            continue
        instruction = _INSTRUCTION.match(line)
        if not instruction:
            continue
        opcode = instruction.group(1)
        opcodes[opcode] += 1
        if at is not None:
            sites.setdefault(opcode, Counter())[at] += 1
        if access_bits(opcode) is not None:
            counted[opcode, at] += 1
    opcodes.pop("NOP", None)
    sites.pop("NOP", None)
    accesses = [_access(opcode, count, at) for (opcode, at), count in counted.items()]
    return Disassembly(dict(opcodes.most_common()), accesses, {k: dict(v.most_common()) for k, v in sites.items()})


def _access(opcode: str, count: int, at: Optional[Tuple[str, int]]) -> Access:
    root = opcode.split(".", maxsplit=1)[0]
    return {
        "opcode": opcode,
        "space": _SPACES.get(root, "global"),
        "store": root.startswith(("ST", "RED", "ATOM", "UTMAST")),
        "bits": access_bits(opcode) or 0,
        "count": count,
        "path": at[0] if at else None,
        "line": at[1] if at else None,
    }

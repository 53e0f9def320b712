"""AMD code: registers, spills and instructions from the assembly text that Triton keeps (``asm["amdgcn"]``). No tool is run."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from kernelband_worker.wire import Access

_COUNT = r"^\s*(?:- )?\.{name}:\s+(\d+)"
_INSTRUCTION = re.compile(r"^\t([a-z]+_[a-z0-9_]+)(?:\s|$)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"(?:\s+"([^"]+)")?', re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s")
_MEMORY = re.compile(
    r"^(?P<unit>global|buffer|flat|scratch|ds)_(?P<op>load|store|read|write|atomic)(?P<pair>2(?:st64)?)?_?(?P<lds>lds_)?(?P<size>\w*)"
)
_SIZES = {"ubyte": 8, "sbyte": 8, "byte": 8, "u8": 8, "i8": 8, "b8": 8, "ushort": 16, "sshort": 16, "short": 16, "u16": 16, "i16": 16}
_SIZES.update({"b16": 16, "dword": 32, "b32": 32, "dwordx2": 64, "b64": 64, "dwordx3": 96, "b96": 96, "dwordx4": 128, "b128": 128})


@dataclass(frozen=True)
class AmdCode:
    """Registers are vector registers per lane, accumulators included (the unified file of CDNA). Bytes are per lane."""

    registers: Optional[int]
    stack_bytes: Optional[int]
    spilled_registers: int
    tensor_core: Optional[str]
    opcodes: Dict[str, int]
    accesses: List[Access]
    sites: Dict[str, Dict[Tuple[str, int], int]]


def parse(text: str) -> AmdCode:
    """Read the assembly of one kernel."""
    files = {number: f"{first}/{second}" if second else first for number, first, second in _FILE.findall(text)}
    at: Optional[Tuple[str, int]] = None
    opcodes: Counter[str] = Counter()
    counted: Counter[Tuple[str, Optional[Tuple[str, int]]]] = Counter()
    sites: Dict[str, Counter[Tuple[str, int]]] = {}
    for line in text.splitlines():
        loc = _LOC.match(line)
        if loc:
            if loc.group(2) != "0" and loc.group(1) in files:
                at = (files[loc.group(1)], int(loc.group(2)))
            continue
        found = _INSTRUCTION.match(line)
        if not found:
            continue
        opcode = found.group(1)
        opcodes[opcode] += 1
        if at is not None:
            sites.setdefault(opcode, Counter())[at] += 1
        if _access(opcode, 1, at) is not None:
            counted[opcode, at] += 1
    accesses = [a for (opcode, place), count in counted.items() for a in [_access(opcode, count, place)] if a is not None]
    return AmdCode(
        registers=_first(text, r"^; TotalNumVgprs: (\d+)", _COUNT.replace("{name}", "vgpr_count")),
        stack_bytes=_first(text, r"^; ScratchSize: (\d+)", _COUNT.replace("{name}", "private_segment_fixed_size")),
        spilled_registers=_first(text, _COUNT.replace("{name}", "vgpr_spill_count")) or 0,
        tensor_core="mfma" if any(o.startswith(("v_mfma", "v_smfmac")) for o in opcodes) else None,
        opcodes=dict(opcodes.most_common()),
        accesses=accesses,
        sites={k: dict(v.most_common()) for k, v in sites.items()},
    )


def _first(text: str, *patterns: str) -> Optional[int]:
    for pattern in patterns:
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return int(found.group(1))
    return None


def _access(opcode: str, count: int, at: Optional[Tuple[str, int]]) -> Optional[Access]:
    found = _MEMORY.match(opcode)
    if not found:
        return None
    size = next((_SIZES[part] for part in found.group("size").split("_") if part in _SIZES), 32)
    unit = found.group("unit")
    return {
        "opcode": opcode,
        "space": {"ds": "shared", "scratch": "local"}.get(unit, "global"),
        "store": found.group("op") in ("store", "write", "atomic"),
        "bits": size,
        "count": count * (2 if found.group("pair") else 1),
        "path": at[0] if at else None,
        "line": at[1] if at else None,
    }

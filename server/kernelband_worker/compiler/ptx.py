"""What PTX tells without a disassembler: access widths per line and the kind of tensor-core instruction.

Used when the machine code itself is not read. ptxas keeps the widths of global accesses as Triton wrote them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, Iterator, List, Optional, Tuple

from kernelband_worker.wire import Access

_At = Tuple[str, int]  # path and line

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"(?:\s+"([^"]+)")?', re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s")
_ACCESS = re.compile(
    r"(?:^|[\s;}])(?P<op>ld|st|red|atom)(?:\.(?:volatile|relaxed|acquire|release|acq_rel|weak|nc|gpu|sys|cta|cluster))*"
    r"\.(?P<space>global|shared(?:::\w+)?|local)(?P<rest>[\w:.]*)\s"
)
_VECTOR = re.compile(r"\.v(\d+)")
_TYPE = re.compile(r"\.[busf]f?(8|16|32|64|128)(?:x2)?(?![\w])")
_ASYNC = re.compile(r"cp\.async\.c[ag]\.shared\S*\s+\[[^\]]+\],\s*\[[^\]]+\],\s*(0x[0-9a-fA-F]+|\d+)")
_BULK = re.compile(r"cp\.async\.bulk\.tensor\S*\.(global\.shared|shared)")


def tensor_core(ptx: str) -> Optional[str]:
    """``tcgen05``, ``wgmma`` or ``mma``; None when no tensor core is used."""
    if "tcgen05.mma" in ptx:
        return "tcgen05"
    if "wgmma.mma_async" in ptx:
        return "wgmma"
    return "mma" if re.search(r"\bmma\.sync", ptx) else None


def accesses(ptx: str) -> List[Access]:
    """The accesses of the kernel by line, in order of first use."""
    counted: Counter[Tuple[str, str, bool, int, Optional[_At]]] = Counter()
    for at, _, (opcode, space, store, bits) in _walk(ptx):
        counted[opcode, space, store, bits, at] += 1
    return [
        {
            "opcode": opcode,
            "space": space,
            "store": store,
            "bits": bits,
            "count": count,
            "path": at[0] if at else None,
            "line": at[1] if at else None,
        }
        for (opcode, space, store, bits, at), count in counted.items()
    ]


def shifted_lines(ptx: str) -> Dict[Tuple[str, int, bool], _At]:
    """Where the machine code's line table is wrong: (path, line there, store) -> the true place.

    Triton writes masked accesses as inline assembly of several lines, and newer LLVM counts the source line up with each of them: a load of
    four registers is attributed to three lines below its own.
    """
    out: Dict[Tuple[str, int, bool], _At] = {}
    for at, wrong, (_, _, store, _) in _walk(ptx):
        if at is not None and wrong is not None and at != wrong:
            out.setdefault((wrong[0], wrong[1], store), at)
    return out


def _walk(ptx: str) -> Iterator[Tuple[Optional[_At], Optional[_At], Tuple[str, str, bool, int]]]:
    """For each access: its place, the place that the line table will have, and (opcode, space, store, bits)."""
    files = {number: f"{first}/{second}" if second else first for number, first, second in _FILE.findall(ptx)}
    now: Optional[_At] = None
    inline: Optional[_At] = None  # the first place inside a block of inline assembly
    inside = False
    for line in ptx.splitlines():
        if "// begin inline asm" in line:
            inside, inline = True, None
        elif "// end inline asm" in line:
            inside = False
        loc = _LOC.match(line)
        if loc:
            if loc.group(2) != "0" and loc.group(1) in files:
                now = (files[loc.group(1)], int(loc.group(2)))
                inline = inline or (now if inside else None)
            continue
        access = _access(line)
        if access is not None:
            yield (inline if inside and inline else now), now, access


def _access(line: str) -> Optional[Tuple[str, str, bool, int]]:
    copy = _ASYNC.search(line)
    if copy:
        return "cp.async", "global", False, 8 * int(copy.group(1), 0)
    bulk = _BULK.search(line)
    if bulk:
        return "cp.async.bulk", "global", bulk.group(1) == "global.shared", 128
    found = _ACCESS.search(line)
    kind = _TYPE.search(found.group("rest")) if found else None
    if found is None or kind is None:
        return None
    vector = _VECTOR.search(found.group("rest"))
    bits = int(kind.group(1)) * (int(vector.group(1)) if vector else 1)
    space = found.group("space").split("::")[0]
    return f"{found.group('op')}.{space}", space, found.group("op") != "ld", bits

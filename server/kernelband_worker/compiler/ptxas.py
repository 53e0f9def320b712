"""ptxas' own report: spill bytes and 'wgmma serialized', which Triton throws away.

Triton runs ptxas with ``-v`` and deletes the log. Since 3.5 TRITON_DUMP_PTXAS_LOG makes it print the log first; that setting is not part of
its cache key, so the code that is built is the one that is timed. Where there is no such setting, or the kernel came from the cache, ptxas
is run a second time, apart, on the PTX that Triton kept.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import tempfile
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional

from kernelband_worker.compiler import tools

_LOG_SETTING = "TRITON_DUMP_PTXAS_LOG"
_LOG_READER = "dump_ptxas_log"  # how the stage asks for that setting
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
#: ptxas' advice C7510 and C7511: "Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... in the function ..."
_SERIALIZED = re.compile(r"wgmma\.mma_async instructions are serialized due to (.*?)(?: in (?:the )?function| *$)", re.MULTILINE)


@dataclass(frozen=True)
class PtxasReport:
    """What ``ptxas -v`` says of one kernel. Bytes are per thread."""

    registers: Optional[int]
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    serialized: Optional[str]  # why wgmma instructions wait for each other; None when they don't


class _Tee(io.TextIOBase):
    """Collects the ptxas log and passes what else is printed on."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: List[str] = []

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.kept.append(text)
        return len(text)


@contextlib.contextmanager
def listening() -> Iterator[List[str]]:
    """While open, what Triton prints of ptxas is kept in the list instead of printed."""
    before = os.environ.get(_LOG_SETTING)
    os.environ[_LOG_SETTING] = "1"
    sink = _Tee()
    try:
        with contextlib.redirect_stdout(sink):
            yield sink.kept
    finally:
        if before is None:
            os.environ.pop(_LOG_SETTING, None)
        else:
            os.environ[_LOG_SETTING] = before


def parse(text: str) -> Optional[PtxasReport]:
    """The report in ``text``; None when there is none. Several functions (not inlined helpers) are added up."""
    spills = _SPILLS.findall(text)
    if not spills:
        return None
    registers = [int(n) for n in _REGISTERS.findall(text)]
    serialized = _SERIALIZED.search(text)
    return PtxasReport(
        registers=max(registers) if registers else None,
        stack_bytes=max(int(s[0]) for s in spills),
        spill_store_bytes=sum(int(s[1]) for s in spills),
        spill_load_bytes=sum(int(s[2]) for s in spills),
        serialized=serialized.group(1).strip() if serialized else None,
    )


def report(ptx: str, arch: int, metadata: Any, seconds: float) -> PtxasReport:
    """Assemble ``ptx`` once more, for the report alone. ``metadata`` is that of the compiled kernel.

    Where Triton can print the log, its own stage is run with its own flags, bounded by the caller's deadline. Elsewhere ptxas is called.

    Raises:
        tools.ToolError: ptxas is missing, fails or takes longer than ``seconds``.
    """
    text = _by_stage(ptx, arch, metadata) or _by_hand(ptx, arch, metadata, seconds)
    found = parse(text)
    if found is None:
        raise tools.ToolError("ptxas printed no report that could be read.")
    return found


def _by_stage(ptx: str, arch: int, metadata: Any) -> str:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    backend = make_backend(GPUTarget("cuda", arch, 32))
    stage = getattr(backend, "make_cubin", None)
    if stage is None or _LOG_READER not in inspect.getsource(stage):
        return ""
    given = metadata._asdict()
    options = backend.parse_options({k: v for k, v in given.items() if k in ("enable_fp_fusion", "ptx_options", "instrumentation_mode")})
    with listening() as log:
        stage(ptx, dict(given), options, arch)
    return "".join(log)


def _by_hand(ptx: str, arch: int, metadata: Any, seconds: float) -> str:
    extra = getattr(metadata, "ptx_options", None)
    flags = (
        ["-lineinfo", "-v"] + ([] if getattr(metadata, "enable_fp_fusion", True) else ["--fmad=false"]) + (extra.split() if extra else [])
    )
    with tempfile.TemporaryDirectory(prefix="kernelband-ptxas-") as folder:
        source, binary = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ptx)
        return tools.run([tools.ptxas_path(arch), *flags, f"--gpu-name={_gpu_name(arch)}", source, "-o", binary], seconds).stderr


def _gpu_name(arch: int) -> str:
    """``sm_90a`` for 90: the name that Triton assembles for. The suffix opens the instructions of that architecture alone."""
    from triton.backends.nvidia import compiler as nvidia

    name = getattr(nvidia, "sm_arch_from_capability", None)
    if name is not None:
        return name(arch)
    return f"sm_{arch}a" if arch == 90 else f"sm_{arch}"

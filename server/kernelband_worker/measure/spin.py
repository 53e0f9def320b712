"""A kernel that keeps a whole NVIDIA GPU busy for a while: what is submitted meanwhile, to whatever stream, begins after it.

``torch.cuda._sleep`` is one thread: work on another stream would run beside it, before the clock starts. This one takes every thread of
every multiprocessor. Launched through the driver, so that neither torch nor Triton has a part in it.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional

THREADS = 512  # of a program; they fit a multiprocessor two to four times
_PTX = b"""
.version 6.0
.target sm_60
.address_size 64
.visible .entry kernelband_spin(.param .u64 nanoseconds)
{
    .reg .u64 %first, %now, %wanted;
    .reg .pred %more;
    ld.param.u64 %wanted, [nanoseconds];
    mov.u64 %first, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %first;
    setp.lt.u64 %more, %now, %wanted;
    @%more bra again;
    ret;
}
\0"""


class Spin:
    """Enqueues that kernel. Make it in the thread that launches, where torch has its context."""

    def __init__(self, driver: Any, function: ctypes.c_void_p, programs: int) -> None:
        self._driver, self._function, self._programs = driver, function, programs

    def __call__(self, us: float, stream: int) -> None:
        """Keep the GPU busy for ``us`` microseconds; ``stream`` is a CUDA stream's handle."""
        wanted = ctypes.c_uint64(int(us * 1000.0))
        arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(wanted), ctypes.c_void_p))
        sizes = (self._programs, 1, 1, THREADS, 1, 1, 0)
        self._driver.cuLaunchKernel(self._function, *sizes, ctypes.c_void_p(stream), arguments, None)


def make_spin(multiprocessors: int, threads: int) -> Optional[Spin]:
    """For a GPU with so many multiprocessors of so many threads each; None where there is no CUDA driver that takes it."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return None
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    if driver.cuModuleLoadData(ctypes.byref(module), _PTX) or driver.cuModuleGetFunction(
        ctypes.byref(function), module, b"kernelband_spin"
    ):
        return None
    return Spin(driver, function, multiprocessors * max(1, threads // THREADS))

"""The process that a profiler watches: one launch of recorded machine code through the driver, nothing else.

No torch, no Triton, no code of the user's: it starts in a fraction of a second, and the profiler sees one kernel. Standard library only.
A record is a folder with ``launch.json`` (profile_launch.py writes it), the machine code and the contents of integer buffers.
Floats hold a finite pattern: what they are decides nothing about how much is moved.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from pathlib import Path
from typing import Any, Dict, List

#: Two halves of about 1.9, two bfloat16 or a float32 of about 1: finite in each dtype, whatever a kernel computes from it.
PATTERN = 0x3F803F80
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_STATIC_SHARED_LIMIT = 48 << 10  # more needs the attribute
_SCRATCH = 2  # pointers that Triton appends to the arguments: global and profile scratch; the driver reads as many as the code has


class DriverError(Exception):
    """A driver call said no."""


class Driver:
    """The CUDA driver, call by call."""

    def __init__(self) -> None:
        self._cuda: Any = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *args: Any) -> None:
        """One call.

        Raises:
            DriverError: with the driver's name for the error.
        """
        code = int(getattr(self._cuda, name)(*args))
        if code:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorName(code, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'error').decode()} ({code})")

    def context(self) -> None:
        """The primary context of the first visible device."""
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def buffer(self, size: int, content: bytes) -> int:
        """Device memory of ``size`` bytes that begins with ``content``; the pattern where there is none."""
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(4, (size + 3) // 4 * 4)))
        if content:
            self.call("cuMemcpyHtoD_v2", pointer, content, ctypes.c_size_t(len(content)))
        else:
            self.call("cuMemsetD32_v2", pointer, ctypes.c_uint(PATTERN), ctypes.c_size_t((size + 3) // 4))
        return int(pointer.value)


def replay(folder: Path) -> None:
    """Launches what was recorded there, once, and waits.

    Raises:
        DriverError: the driver refuses it.
    """
    record: Dict[str, Any] = json.loads((folder / "launch.json").read_text())
    driver = Driver()
    driver.context()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    code = (folder / "code.cubin").read_bytes()
    driver.call("cuModuleLoadData", ctypes.byref(module), code)
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, record["name"].encode())
    if record["shared_bytes"] > _STATIC_SHARED_LIMIT:
        driver.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, record["shared_bytes"])
    bases = [driver.buffer(b["bytes"], (folder / b["content"]).read_bytes() if b["content"] else b"") for b in record["buffers"]]
    packed = arguments(record, bases)
    scratch = driver.buffer(record["scratch_bytes"], b"") if record["scratch_bytes"] else 0
    packed += [struct.pack("<Q", value) for value in (scratch, 0)[:_SCRATCH]]
    cells = [ctypes.create_string_buffer(content, len(content)) for content in packed]
    pointers = (ctypes.c_void_p * len(cells))(*[ctypes.addressof(cell) for cell in cells])
    driver.call("cuCtxSynchronize")
    grid: List[int] = record["grid"]
    driver.call("cuLaunchKernel", function, *grid, record["threads"], 1, 1, record["shared_bytes"], None, pointers, None)
    driver.call("cuCtxSynchronize")


def arguments(record: Dict[str, Any], bases: List[int]) -> List[bytes]:
    """The kernel's arguments as bytes, in order: addresses into the buffers, and numbers."""
    out: List[bytes] = []
    for argument in record["arguments"]:
        if argument["kind"] == "pointer":
            buffer = argument["buffer"]
            out.append(struct.pack("<Q", 0 if buffer is None else bases[buffer] + argument["offset"]))
        elif argument["kind"] == "float":
            out.append(struct.pack({2: "<e", 4: "<f", 8: "<d"}[argument["bytes"]], argument["value"]))
        else:
            size = argument["bytes"]
            out.append((int(argument["value"]) & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
    return out


def main() -> None:
    """``sys.argv[1]`` is the folder."""
    try:
        replay(Path(sys.argv[1]))
    except (DriverError, OSError, ValueError, KeyError) as error:
        sys.exit(f"The recorded launch can't be replayed: {error}")


if __name__ == "__main__":
    main()

"""Writes a launch down so that a process without torch can repeat it: machine code, grid, arguments, and how large the buffers are."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

import torch
from triton.runtime.jit import JITFunction

from kernelband_worker.launches import LaunchEvent

_INTEGERS: Mapping[str, int] = {"i1": 1, "u1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8}
_FLOATS: Mapping[str, int] = {"fp16": 2, "fp32": 4, "fp64": 8, "f32": 4, "f64": 8}
MOST_CONTENT = 64 << 20  # bytes of integer tensors that are written out


class NotRecordableError(Exception):
    """A clause: why this launch can't be repeated outside its process."""


@dataclass
class Binaries:
    """What ``JITFunction.run`` gave back last, by kernel."""

    by_kernel: Dict[int, Any] = field(default_factory=dict)

    def of(self, kernel: Any) -> Any:
        """The compiled kernel of the last launch; None when it was launched another way."""
        return self.by_kernel.get(id(kernel))


@contextmanager
def binaries() -> Iterator[Binaries]:
    """Keeps the compiled kernels of launches inside the block. Enter it before ``launches.observe``, which stands in front of it."""
    found = Binaries()
    run: Callable[..., Any] = JITFunction.run

    def keeping(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        result = run(kernel, *args, grid=grid, warmup=warmup, **kwargs)
        if result is not None and not warmup:
            found.by_kernel[id(kernel)] = result
        return result

    setattr(JITFunction, "run", keeping)  # noqa: B010 - a method of Triton's, for the time of the block
    try:
        yield found
    finally:
        setattr(JITFunction, "run", run)  # noqa: B010


def record(event: LaunchEvent, compiled: Any, folder: Path) -> None:
    """Write the launch into ``folder`` (see profile_replay.py).

    Raises:
        NotRecordableError: it takes more than plain pointers and numbers, or is launched in clusters.
    """
    metadata = compiled.metadata
    code = compiled.asm.get("cubin")
    if not isinstance(code, bytes):
        raise NotRecordableError("its machine code is not NVIDIA's")
    if int(getattr(metadata, "num_ctas", 1) or 1) > 1 or math.prod(getattr(metadata, "cluster_dims", (1, 1, 1)) or (1,)) > 1:
        raise NotRecordableError("it is launched in clusters")
    if getattr(metadata, "launch_cooperative_grid", False):
        raise NotRecordableError("it is launched as a cooperative grid")
    buffers, arguments = _arguments(event.specialization["signature"], event.arguments, folder)
    (folder / "code.cubin").write_bytes(code)
    written = {
        "name": metadata.name,
        "grid": list(event.grid),
        "threads": int(metadata.num_warps) * 32,
        "shared_bytes": int(metadata.shared),
        "scratch_bytes": int(getattr(metadata, "global_scratch_size", 0) or 0) * math.prod(event.grid),
        "buffers": buffers,
        "arguments": arguments,
    }
    (folder / "launch.json").write_text(json.dumps(written))


def _arguments(signature: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Buffers, one for each storage, and the arguments in order; constants are in the code already."""
    buffers: List[Dict[str, Any]] = []
    numbers: Dict[int, int] = {}
    arguments: List[Dict[str, Any]] = []
    written = 0
    for name, kind in signature.items():
        if kind == "constexpr":
            continue
        if name not in values:
            raise NotRecordableError(f"the value of {name} is not known")
        value = values[name]
        if not isinstance(kind, str):
            raise NotRecordableError(f"{name} is a tuple")
        if kind.startswith("*"):
            tensor = _tensor(name, value)
            if tensor is None:
                arguments.append({"kind": "pointer", "buffer": None, "offset": 0})
                continue
            storage = tensor.untyped_storage()
            base = storage.data_ptr()
            if base not in numbers:
                numbers[base] = len(buffers)
                content, written = _content(tensor, folder, len(buffers), written)
                buffers.append({"bytes": storage.nbytes(), "content": content})
            arguments.append({"kind": "pointer", "buffer": numbers[base], "offset": tensor.data_ptr() - base})
        elif kind in _FLOATS:
            arguments.append({"kind": "float", "bytes": _FLOATS[kind], "value": float(value)})
        elif kind in _INTEGERS:
            arguments.append({"kind": "integer", "bytes": _INTEGERS[kind], "value": int(value)})
        else:
            raise NotRecordableError(f"{name} is a {kind.partition('<')[0]}")
    return buffers, arguments


def _tensor(name: str, value: Any) -> Optional[torch.Tensor]:
    """The tensor behind a pointer argument; None for a null pointer."""
    if value is None:
        return None
    tensor = value if isinstance(value, torch.Tensor) else getattr(value, "base", None)
    if not isinstance(tensor, torch.Tensor):
        raise NotRecordableError(f"{name} is a pointer of its own making")
    return tensor


def _content(tensor: torch.Tensor, folder: Path, number: int, written: int) -> Tuple[Optional[str], int]:
    """A file with the storage's bytes where they decide what is accessed: integers and flags. Floats need none."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return None, written
    storage = tensor.untyped_storage()
    if written + storage.nbytes() > MOST_CONTENT:
        raise NotRecordableError("its integer tensors are too large to be written out")
    content = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage).cpu().numpy().tobytes()
    name = f"buffer{number}"
    (folder / name).write_bytes(content)
    return name, written + storage.nbytes()

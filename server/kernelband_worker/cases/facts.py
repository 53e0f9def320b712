"""What the engine is told about a call: tensors, constants, launches, one line for people, compulsory bytes."""

from __future__ import annotations

import hashlib
import json
from types import ModuleType
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch
from triton.runtime.jit import KernelInterface

from kernelband_worker.cases.names import constant, plain, tensors_of
from kernelband_worker.cases.tensors import Storages, describe
from kernelband_worker.wire import Function

_LINE = 160


def tensor_facts(named: List[Tuple[str, Any]], tensors: List[torch.Tensor], storages: Storages) -> List[Dict[str, Any]]:
    """wire.TensorFacts of a tree's tensors, in the tree's order. Policies and mutation are filled in later."""
    by_identity = {id(t): name for name, t in tensors_of(named)}
    facts = []
    for index, tensor in enumerate(tensors):
        facts.append(
            {
                "name": by_identity.get(id(tensor), f"tensor {index}"),
                **describe(tensor),
                "storage": storages.number(tensor),
                "offset": tensor.storage_offset(),
                "requires_grad": tensor.requires_grad,
                "policy": "recorded",
                "mutated": False,
            }
        )
    return facts


def constants_of(named: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Every argument that isn't a tensor, as JSON: numbers and strings by value, the rest by type. Of an object also the strings, truths
    and dtypes that it holds, which choose what is launched; not its numbers, since it may count its calls.
    """
    found: Dict[str, Any] = {}
    for name, value in named:
        if isinstance(value, torch.Tensor):
            continue
        found[name] = constant(value)
        if not isinstance(value, (type, ModuleType, KernelInterface)):
            held = [(k, v) for k, v in getattr(value, "__dict__", {}).items() if not k.startswith("_")]
            found.update({f"{name}.{k}": constant(v) for k, v in held if isinstance(v, (str, bool, torch.dtype))})
    return found


def line(facts: List[Dict[str, Any]], named: List[Tuple[str, Any]]) -> str:
    """One line for people: ``x: float32[4096, 781], eps: 1e-05``."""
    by_name = {f["name"]: f for f in facts}
    parts, used = [], set()
    for name, value in named:
        if name in by_name:
            used.add(name)
            parts.append(f"{name}: {_shape(by_name[name])}")
        elif plain(value):
            parts.append(f"{name}: {value!r}")
    parts += [f"{f['name']}: {_shape(f)}" for f in facts if f["name"] not in used]
    text = ", ".join(parts)
    return text if len(text) <= _LINE else text[: _LINE - 1] + "…"


def _shape(facts: Dict[str, Any]) -> str:
    return f"{facts['dtype']}{facts['shape']}"


def call_key(function: Function, facts: List[Dict[str, Any]], constants: Dict[str, Any]) -> str:
    """What tells two calls apart before they run: place, tensors with their alias pattern, constants."""
    return digest([function["module"], function["qualname"], _pattern(facts), constants])


def case_key(function: Function, facts: List[Dict[str, Any]], launches: Sequence[Dict[str, Any]]) -> str:
    """What tells two cases apart: place, shapes and the specialisations and grids launched. Other constants don't."""
    launched = [(x["kernel"]["qualname"], x["specialization"], x["grid"]) for x in launches]
    return digest([function["module"], function["qualname"], _pattern(facts), launched])


def _pattern(facts: List[Dict[str, Any]]) -> List[Any]:
    return [[f["name"], f["shape"], f["stride"], f["dtype"], f["storage"], f["offset"] % 16] for f in facts]


def digest(value: Any) -> str:
    """SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def launch_facts(event: Any, target: Function) -> Dict[str, Any]:
    """wire.LaunchFacts of a LaunchEvent. ``target`` is the kernel that is optimized."""
    constexprs = {p.name for p in event.kernel.params if p.is_constexpr}
    constants: Dict[str, Any] = {}
    scalars: Dict[str, Any] = {}
    tensors: Dict[str, Any] = {}
    storages = Storages()
    for name, value in event.arguments.items():
        tensor = value if isinstance(value, torch.Tensor) else getattr(value, "base", None)
        if name in constexprs:
            constants[name] = constant(value)
        elif isinstance(tensor, torch.Tensor):
            tensors[name] = tensor_facts([(name, tensor)], [tensor], storages)[0]
        else:
            scalars[name] = constant(value)
    traffic = getattr(event, "traffic", None)
    counted = traffic if traffic is not None and traffic.even else None
    options = event.options
    return {
        "kernel": dict(event.function),
        "specialization": str(event.specialization.get("key", digest([constants, sorted(scalars)]))),
        "grid": list(event.grid),
        "num_warps": int(options.get("num_warps") or 4),
        "num_stages": int(options.get("num_stages") or 3),
        "num_ctas": int(options.get("num_ctas") or 1),
        "constants": constants,
        "scalars": scalars,
        "tensors": tensors,
        "config": None if event.config is None else {k: constant(v) for k, v in event.config.items()},
        "target": same_function(event.function, target),
        "loads_bytes": getattr(counted, "loads_bytes", None),
        "stores_bytes": getattr(counted, "stores_bytes", None),
        "flops": getattr(counted, "flops", None),
        "dot_flops": getattr(counted, "dot_flops", None),
        "arithmetic": getattr(counted, "arithmetic", None),
        "functions": getattr(counted, "functions", None),
        "sectors_per_request": getattr(traffic, "sectors_per_request", None),
        "unique_bytes": None if counted is None else counted.unique_loads_bytes + counted.unique_stores_bytes,
        "guessed_bytes": None if traffic is None else traffic.loads_bytes + traffic.stores_bytes,
        "lines": [] if traffic is None else [vars(access) for access in traffic.accesses],
        "callers": [dict(function) for function in event.frames],
    }


def same_function(a: Function, b: Function) -> bool:
    """Whether two places are the same function. ``__main__`` and the module's own name count as one: the path decides."""
    return a["qualname"] == b["qualname"] and (a["path"] == b["path"] or a["module"] == b["module"])


def compulsory_bytes(launches: Sequence[Dict[str, Any]]) -> Optional[int]:
    """Bytes of every element that the target's launches get, moved once; None when a table of integers says what is accessed.

    Bytes are values (quantised ones, flags), not tables.
    """
    seen: Set[Any] = set()
    total = 0
    for launch in launches:
        if not launch["target"]:
            continue
        for facts in launch["tensors"].values():
            count = 1
            for size, stride in zip(facts["shape"], facts["stride"]):
                count *= size if stride or size == 0 else 1  # broadcast dimensions hold one element
            dtype = getattr(torch, facts["dtype"])
            if not dtype.is_floating_point and not dtype.is_complex and dtype.itemsize > 1 and count > 1:
                return None
            key = (facts["storage"], facts["offset"], tuple(facts["shape"]), tuple(facts["stride"]))
            if key not in seen:
                seen.add(key)
                total += count * dtype.itemsize
    return total

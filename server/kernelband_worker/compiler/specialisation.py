"""A specialisation as JSON, and back to what Triton compiles.

The JSON is the ``specialization_data`` that Triton itself writes for ``JITFunction.preload`` (3.2: ``constants`` and ``attrs``; from 3.3 on
lists of keys and values; 3.9 names jit functions among the constants). Read here rather than by ``preload`` because that needs a driver,
can't compile for another target, and before 3.9 can't pass a jit function as a constant. The result goes to ``triton.compile`` exactly as
a launch passes it, so both find the same cache entry.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple

from kernelband_worker.wire import LaunchSpec, Target

#: Options that the target decides, never the user.
_OF_TARGET = (
    "arch",
    "backend_name",
    "warp_size",
    "extern_libs",
    "ptx_version",
    "supported_fp8_dtypes",
    "deprecated_fp8_dot_operand_dtypes",
)
_SMALL = ["tt.pointer_range", 32]  # AMD: offsets of this pointer fit 32 bits, so buffer instructions may be used


def dumps(
    name: str,
    signature: Dict[str, Any],
    constants: Dict[Any, Any],
    attributes: Any,
    *,
    options: Dict[str, Any],
    of_jit: Callable[[Any], str],
) -> str:
    """``specialization_data`` for any Triton; ``of_jit`` names a jit function that is passed as a constant, as ``module:qualname``.

    Raises:
        TypeError: a constant is neither JSON nor a dtype, constexpr or jit function.
    """

    def encode(value: Any) -> Any:
        kind = type(value).__name__
        if kind == "dtype":
            return str(value)
        if kind == "constexpr":
            return {"constexpr": encode(value.value)}
        if kind == "JITFunction":
            return {"jit_function": of_jit(value)}
        return value

    out: Dict[str, Any] = {"name": name, "signature": signature, "options": options}
    if hasattr(attributes, "to_dict"):  # before 3.3
        out.update(constants={k: encode(v) for k, v in constants.items()}, attrs=attributes.to_dict())
    else:
        out.update(constant_keys=[_path(k) for k in constants], constant_vals=[encode(v) for v in constants.values()])
        out.update(attrs_keys=[_path(k) for k in attributes], attrs_vals=list(attributes.values()))
    return json.dumps(out, default=list)


def _path(key: Any) -> List[Any]:
    return list(key) if isinstance(key, (tuple, list)) else [key]


def _pairs(data: Dict[str, Any], of: str) -> List[Tuple[Any, Any]]:
    keys, values = data[f"{of}_keys"], data[f"{of}_vals"]
    return [(key, values[i]) for i, key in enumerate(keys)]


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _decode(value: Any, jit: Callable[[str], Any]) -> Any:
    import triton.language as tl

    if tl.dtype.is_dtype(value) if isinstance(value, str) else False:
        return tl.dtype(value)
    if isinstance(value, dict):
        if "jit_function" in value:
            return jit(value["jit_function"])
        if "constexpr" in value:
            return tl.constexpr(_tuples(value["constexpr"]))
    return _tuples(value)


def source(kernel: Any, launch: LaunchSpec, target: Target, jit: Callable[[str], Any]) -> Tuple[Any, Dict[str, Any]]:
    """``(src, options)`` for ``triton.compile(src, target=..., options=...)``.

    ``jit`` finds a jit function by ``module:qualname``.
    """
    from triton.compiler import ASTSource

    data = json.loads(launch["specialization_data"])
    signature = {k: _tuples(v) for k, v in data["signature"].items()}
    known: Optional[Target] = launch.get("target") or data.get("target")
    same = known is None or (known["backend"], known["arch"]) == (target["backend"], target["arch"])
    options = {k: _tuples(v) for k, v in data["options"].items()}
    if not same and known is not None:
        options = _retarget(options, known, target)
    if "constants" in data:
        from triton.backends.compiler import AttrsDescriptor  # pyright: ignore[reportAttributeAccessIssue] - Triton 3.2

        constants: Dict[Any, Any] = {k: _decode(v, jit) for k, v in data["constants"].items()}
        return ASTSource(kernel, signature, constants, AttrsDescriptor.from_dict(data["attrs"])), options
    constants = {tuple(k): _decode(v, jit) for k, v in _pairs(data, "constant")}
    attributes = {tuple(k): v for k, v in _pairs(data, "attrs")}
    if not same:
        attributes = _attributes(attributes, signature, launch, target)
    return ASTSource(kernel, signature, constants, attributes), options


def _defaults(target: Target) -> Dict[str, Any]:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    chosen = make_backend(GPUTarget(target["backend"], target["arch"], target["warp_size"])).parse_options({})
    return json.loads(json.dumps(chosen.__dict__, default=list))


def _retarget(options: Dict[str, Any], known: Target, target: Target) -> Dict[str, Any]:
    """The options that differ from ``known``'s defaults and mean something on ``target``: what the launch asked for."""
    before, after = _defaults(known), _defaults(target)
    return {k: v for k, v in options.items() if k not in _OF_TARGET and k in after and _tuples(before.get(k)) != v}


def _attributes(attributes: Dict[Any, Any], signature: Dict[str, Any], launch: LaunchSpec, target: Target) -> Dict[Any, Any]:
    """Divisibility is a property of the arguments and stays; AMD adds one for pointers to at most 2 GiB."""
    out = {k: [a for a in v if a[0] != _SMALL[0]] for k, v in attributes.items()}
    if target["backend"] == "hip":
        for index, name in enumerate(signature):
            if name in launch.get("small", []):
                out[(index,)] = [*out.get((index,), []), list(_SMALL)]
    return {k: out[k] for k in sorted(out) if out[k]}

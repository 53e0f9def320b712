"""The common functions of libdevice for the interpreter, which has none of them, in numpy."""

from __future__ import annotations

import importlib
import importlib.util
import math
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, cast

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from kernelband_worker.cpu.bf16 import encode, lift

_MODULES = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice", "triton.language.extra.hip.libdevice")


def _each(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    return np.vectorize(function, otypes=[np.float64])


def _whole(function: Callable[[int], int]) -> Callable[..., np.ndarray]:
    return np.vectorize(lambda value: function(int(value) & 0xFFFFFFFF), otypes=[np.int32])


def _round(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)  # halves away from zero, as in C


def _tgamma(x: float) -> float:
    return math.gamma(x) if x > 0 or x != math.floor(x) else math.nan


#: Called the same in numpy.
_SAME = (
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh floor ceil trunc rint copysign hypot fmod fmax fmin "
    "nextafter ldexp isnan isinf signbit"
)

FUNCTIONS: Dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _SAME.split()},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
    "abs": np.abs,
    "fabs": np.abs,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "nearbyint": np.rint,
    "round": _round,
    "max": np.maximum,
    "min": np.minimum,
    "exp10": lambda x: np.power(10.0, x),
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "lgamma": _each(math.lgamma),
    "tgamma": _each(_tgamma),
    "fma": lambda x, y, z: x * y + z,
    "fdim": lambda x, y: np.maximum(x - y, 0),
    "finitef": np.isfinite,
    "isfinited": np.isfinite,
    "sinpi": lambda x: np.sin(np.pi * x),
    "cospi": lambda x: np.cos(np.pi * x),
    "saturatef": lambda x: np.clip(x, 0, 1),
    "fast_expf": np.exp,
    "fast_exp10f": lambda x: np.power(10.0, x),
    "fast_logf": np.log,
    "fast_log2f": np.log2,
    "fast_log10f": np.log10,
    "fast_sinf": np.sin,
    "fast_cosf": np.cos,
    "fast_tanf": np.tan,
    "fast_tanhf": np.tanh,
    "fast_powf": np.power,
    "fast_dividef": np.divide,
    **{f"{name}_rn": getattr(np, full) for name, full in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("div", "divide"))},
    "sqrt_rn": np.sqrt,
    "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "rcp_rn": lambda x: 1 / x,
    "fma_rn": lambda x, y, z: x * y + z,
    "float2int_rn": lambda x: np.rint(x).astype(np.int32),
    "float2int_rd": lambda x: np.floor(x).astype(np.int32),
    "float2int_ru": lambda x: np.ceil(x).astype(np.int32),
    "float2int_rz": lambda x: np.trunc(x).astype(np.int32),
    "llrint": lambda x: np.rint(x).astype(np.int64),
    "popc": _whole(lambda bits: bin(bits).count("1")),
    "clz": _whole(lambda bits: 32 - bits.bit_length()),
}


#: An instruction or two, which aren't counted.
_SHORT = (
    "abs fabs floor ceil trunc rint nearbyint round copysign fmod fmax fmin max min isnan isinf isfinited finitef signbit fma fma_rn fdim "
    "saturatef add_rn sub_rn mul_rn float2int_rn float2int_rd float2int_ru float2int_rz llrint popc clz"
)


def modules() -> Iterator[ModuleType]:
    """The modules that hold libdevice's functions in this Triton."""
    for name in _MODULES:  # older ones have no common module, some builds no AMD backend
        if importlib.util.find_spec(name.rpartition(".")[0]) is not None and importlib.util.find_spec(name) is not None:
            yield importlib.import_module(name)


def names(module: ModuleType) -> Iterator[str]:
    """The functions that a libdevice module defines."""
    for name, value in vars(module).items():
        if callable(value) and getattr(value, "__module__", None) == module.__name__ and not name.startswith("_"):
            yield name


def _tensor(value: Any) -> Any:
    if hasattr(interpreter, "interpreter_semantic"):
        return interpreter.interpreter_semantic.to_tensor(value)
    semantic = cast("Any", tl).semantic  # before 3.4
    return semantic.to_tensor(value, interpreter.interpreter_builder)


def interpreted(name: str, evaluated: Callable[[str, int], None]) -> Callable[..., Any]:
    """Libdevice's function of that name on the interpreter's tensors; ``evaluated`` counts its evaluations."""
    function = FUNCTIONS.get(name)

    def call(*args: Any, **named: Any) -> Any:  # noqa: ARG001 - Triton passes its builder by name
        if function is None:
            raise NotImplementedError(f"libdevice.{name}")
        tensors = [_tensor(arg) for arg in args]
        dtype = tensors[0].dtype
        data = function(*(lift(tensor.handle).data for tensor in tensors))
        if name not in _SHORT.split():
            evaluated(f"libdevice.{name}", data.size)
        if data.dtype == bool:
            dtype = tl.int1
        elif data.dtype in (np.int32, np.int64) and dtype.is_floating():
            dtype = tl.int32 if data.dtype == np.int32 else tl.int64
        elif dtype == tl.bfloat16:
            data = encode(data)
        else:
            data = data.astype(interpreter._get_np_dtype(dtype))
        shapes = [tensor.shape for tensor in tensors if tensor.type.is_block()]
        return tl.tensor(TensorHandle(data, dtype), tl.block_type(dtype, list(data.shape)) if shapes else dtype)

    return call

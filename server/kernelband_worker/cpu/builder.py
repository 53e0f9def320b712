"""Triton's interpreter with bfloat16 arithmetic, a guard on memory, and counts. A subclass: Triton's own builder stays as it is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from kernelband_worker.cpu.bf16 import decode, encode, is_bf16, lift, lower
from kernelband_worker.cpu.guard import Launch

_numpy_type: Callable[[Any], np.dtype] = interpreter._get_np_dtype


def _divide_rn(x: Any, y: Any) -> Any:
    """The division that ``tl.div_rn`` asks for: the same numbers here, more instructions on a GPU."""
    return np.divide(x, y)


def _sqrt_rn(x: Any) -> Any:
    """As ``_divide_rn``."""
    return np.sqrt(x)


_DIVISIONS = {np.divide: "div", _divide_rn: "div_rn"}
#: Functions of floats that take several instructions, or special ones.
_FUNCTIONS: Dict[Any, str] = {getattr(np, name): name for name in ("exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "fmod")}
_FUNCTIONS.update({_sqrt_rn: "sqrt_rn"})
_ADDITIONS = frozenset({np.add, np.subtract})
#: Operations on floats that take an instruction.
_SIMPLE = frozenset({np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin})
#: Instructions that are no floating-point operations.
_COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.where})
#: Of each element that is divided, once its divisor is inverted.
_DIVIDING = 3


class Builder(InterpreterBuilder):
    """What ``tl`` functions call while a kernel is interpreted. ``launch`` is set while one runs."""

    def __init__(self) -> None:
        super().__init__()
        if getattr(self.options, "sanitize_overflow", False):  # a quarter of the time, for an assertion that only ``debug`` makes
            self.options = replace(self.options, sanitize_overflow=False)
        self.launch: Optional[Launch] = None
        self._masked = True  # whether the access at hand has a mask in the source

    @property
    def _now(self) -> Launch:
        assert self.launch is not None
        return self.launch

    # ------------------------------------------------------------ memory

    def create_masked_load(self, ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:  # noqa: ARG002 - cache hints
        dtype = ptrs.get_element_ty()
        numpy_type = _numpy_type(dtype)
        wanted = _flags(mask.data if isinstance(mask, TensorHandle) else mask)
        allowed = self._now.access("load", ptrs.data, wanted, numpy_type.itemsize, masked=self._masked)
        fill = np.zeros_like(ptrs.data, dtype=numpy_type) if other is None else other.data
        if allowed is not wanted:
            fill = np.where(wanted & ~allowed, np.zeros((), dtype=fill.dtype), fill)
        return TensorHandle(interpreter._interpreter.load(ptrs.data, allowed, fill, numpy_type), dtype)

    def create_masked_store(self, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:  # noqa: ARG002 - cache hints
        wanted = _flags(mask.data if isinstance(mask, TensorHandle) else mask)
        size = _numpy_type(ptrs.get_element_ty()).itemsize
        allowed = self._now.access("store", ptrs.data, wanted, size, masked=self._masked)
        return interpreter._interpreter.store(ptrs.data, value.data, allowed)

    def create_atomic_rmw(self, rmwOp: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:  # noqa: N803, PLR0917 - Triton's
        self._now.atomic()
        allowed = self._now.access("store", ptr.data, _flags(mask.data), val.data.dtype.itemsize, masked=self._masked)
        if is_bf16(val):
            return self._atomic_add_bf16(ptr, val, allowed)
        return super().create_atomic_rmw(rmwOp, ptr, val, TensorHandle(allowed, tl.int1), sem, scope)

    def _atomic_add_bf16(self, ptr: Any, val: Any, allowed: np.ndarray) -> Any:
        """Add is the only atomic of bfloat16. One element after the other: addresses may repeat."""
        before = np.zeros(ptr.data.shape, dtype=np.uint16)
        values = np.broadcast_to(decode(val.data), ptr.data.shape)
        zero, yes = np.zeros(1, dtype=np.uint16), np.ones(1, dtype=bool)
        for index in np.ndindex(ptr.data.shape):
            if allowed[index]:
                at = np.array([ptr.data[index]], dtype=np.uint64)
                held = interpreter._interpreter.load(at, yes, zero, np.dtype(np.uint16))
                before[index] = held[0]
                interpreter._interpreter.store(at, encode(decode(held) + values[index]), yes)
        return TensorHandle(before, tl.bfloat16)

    def create_atomic_cas(self, ptr: Any, cmp: Any, val: Any, sem: Any, scope: Any) -> Any:
        self._now.atomic()
        everywhere = np.ones(ptr.data.shape, dtype=bool)
        allowed = self._now.access("store", ptr.data, everywhere, val.data.dtype.itemsize, masked=False)
        if not allowed.all():
            return TensorHandle(np.zeros(ptr.data.shape, dtype=val.data.dtype), cmp.dtype.scalar)
        return super().create_atomic_cas(ptr, cmp, val, sem, scope)

    def create_atomic_load(self, *args: Any) -> Any:
        self._now.atomic()
        return super().create_atomic_load(*args)  # pyright: ignore[reportAttributeAccessIssue] - only newer ones have it

    def create_atomic_store(self, *args: Any) -> Any:
        self._now.atomic()
        return super().create_atomic_store(*args)  # pyright: ignore[reportAttributeAccessIssue] - only newer ones have it

    def create_atomic_poll(self, *args: Any) -> Any:
        self._now.atomic()
        return super().create_atomic_poll(*args)  # pyright: ignore[reportAttributeAccessIssue] - only newer ones have it

    def create_int_to_ptr(self, src: Any, dst_type: Any) -> Any:
        self._now.made_pointers = True
        return self.create_bitcast(src, dst_type)

    # ------------------------------------------------------------ arithmetic

    def _count(self, op: Any, result: Any, *operands: Any) -> Any:
        """Count one operation, of which ``result`` is computed from ``operands``, all as the program sees them."""
        if self.launch is None:
            return result
        counter, size, elements = self.launch.counter, _distinct(result, *operands), result.data.size
        fused = [take_product(x) for x in operands]
        if op in _COMPARISONS and _is_float(operands[-1]):
            counter.instructions(size * _width(operands[-1]))
        elif not _is_float(result):
            return result
        elif op is np.clip:
            counter.instructions(2 * size * _width(result))
        elif op in _DIVISIONS:
            counter.operations(elements)
            counter.evaluated(_DIVISIONS[op], min(size, _distinct(operands[1])))
            counter.instructions(_DIVIDING * size)
        elif op in _FUNCTIONS:
            counter.operations(elements)
            counter.evaluated(_FUNCTIONS[op], size)
        elif op in _SIMPLE:
            counter.operations(elements)
            if not (op in _ADDITIONS and any(fused)):
                counter.instructions(size * _width(result))
            if op is np.multiply:
                result.product = True
        return result

    def binary_op(self, lhs: Any, rhs: Any, op: Any) -> Any:
        narrow = is_bf16(lhs) or is_bf16(rhs)
        result = lower(super().binary_op(lift(lhs), lift(rhs), op)) if narrow else super().binary_op(lhs, rhs, op)
        return self._count(op, result, lhs, rhs)

    def unary_op(self, arg: Any, op: Any) -> Any:
        result = lower(super().unary_op(lift(arg), op)) if is_bf16(arg) else super().unary_op(arg, op)
        return self._count(op, result, arg)

    def ternary_op(self, lhs: Any, rhs: Any, other: Any, op: Any) -> Any:
        if is_bf16(lhs) or is_bf16(rhs) or is_bf16(other):
            return self._count(op, lower(super().ternary_op(lift(lhs), lift(rhs), lift(other), op)), lhs, rhs, other)
        return self._count(op, super().ternary_op(lhs, rhs, other, op), lhs, rhs, other)

    def create_fma(self, x: Any, y: Any, z: Any) -> Any:
        if self.launch is not None and _is_float(z):
            size = max(x.data.size, y.data.size, z.data.size)
            self.launch.counter.operations(2 * size)
            self.launch.counter.instructions(size * _width(z))
        if is_bf16(z):
            return lower(super().create_fma(lift(x), lift(y), lift(z)))
        return super().create_fma(x, y, z)

    def create_precise_divf(self, lhs: Any, rhs: Any) -> Any:
        return self.binary_op(lhs, rhs, _divide_rn)

    def create_precise_sqrt(self, arg: Any) -> Any:
        return self.unary_op(arg, _sqrt_rn)

    def create_erf(self, arg: Any) -> Any:
        self.evaluated("erf", arg.data.size)
        return lower(super().create_erf(lift(arg))) if is_bf16(arg) else super().create_erf(arg)

    def create_rsqrt(self, arg: Any) -> Any:
        self.evaluated("rsqrt", arg.data.size)
        return lower(super().create_rsqrt(lift(arg))) if is_bf16(arg) else super().create_rsqrt(arg)

    def evaluated(self, function: str, count: int) -> None:
        """Evaluations of a function by name, an operation each."""
        if self.launch is not None:
            self.launch.counter.operations(count)
            self.launch.counter.evaluated(function, count)

    def create_dot(self, a: Any, b: Any, d: Any, *rest: Any, **named: Any) -> Any:
        if self.launch is not None:
            rows, inner, columns = a.data.shape[-2], a.data.shape[-1], b.data.shape[-1]
            self.launch.counter.operations(0)
            self.launch.counter.dot_flops += 2 * rows * inner * columns * int(np.prod(a.data.shape[:-2]))
        result: Any = super().create_dot(lift(a), lift(b), d, *rest, **named)
        result.product = True  # what is added to it goes into its accumulators
        return result

    # ------------------------------------------------------------ shapes

    def create_splat(self, ret_ty: Any, arg: Any) -> Any:
        result: Any = super().create_splat(ret_ty, arg)
        result.distinct = 1
        return result

    def create_broadcast(self, arg: Any, shape: Any) -> Any:
        result: Any = super().create_broadcast(arg, shape)
        result.distinct = _distinct(arg)
        return result

    # ------------------------------------------------------------ conversions

    def get_bf16(self, value: Any) -> Any:
        return TensorHandle(encode(np.array([value], dtype=np.float32)), tl.bfloat16)

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        return self._converted(src, self._cast(src, dst_type))

    def _converted(self, src: Any, result: Any) -> Any:
        """Count a conversion from or to floats."""
        if self.launch is not None and src.dtype.scalar != result.dtype.scalar and (_is_float(src) or _is_float(result)):
            self.launch.counter.instructions(_distinct(result, src) * _width(result))
        return result

    def _cast(self, src: Any, dst_type: Any) -> Any:
        if is_bf16(src):
            return self._cast(lift(src), dst_type) if dst_type.scalar != tl.bfloat16 else src
        if dst_type.scalar == tl.bfloat16:
            return TensorHandle(encode(src.data.astype(np.float32)), tl.bfloat16)
        return super().cast_impl(src, dst_type)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        return self._converted(src, self._rounded(src, dst_type, rounding_mode))

    def _rounded(self, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        if is_bf16(src):
            lifted = lift(src)
            return lifted if dst_type.scalar == tl.float32 else self._rounded(lifted, dst_type, rounding_mode)
        if dst_type.scalar == tl.bfloat16:
            wide = src if src.data.dtype.kind == "f" else super().create_fp_to_fp(src, tl.float32, rounding_mode)
            if rounding_mode == interpreter._ir.ROUNDING_MODE.RTZ:
                whole = np.ascontiguousarray(wide.data, dtype=np.float32).view(np.uint32)
                return TensorHandle((whole >> np.uint32(16)).astype(np.uint16), tl.bfloat16)
            return TensorHandle(encode(wide.data), tl.bfloat16)
        return super().create_fp_to_fp(src, dst_type, rounding_mode)


def _distinct(handle: Any, *operands: Any) -> int:
    """Elements of a value that may differ, fewer than it has where it is broadcast, or computed from such; said on the value."""
    if operands:
        handle.distinct = min(handle.data.size, math.prod(map(_distinct, operands)))
    return int(getattr(handle, "distinct", handle.data.size))


def take_product(handle: Any) -> bool:
    """Whether a value is a product that nothing has used yet: an addition is fused with it. From now on it is used."""
    product = getattr(handle, "product", False)
    if product:
        handle.product = False
    return product


def _is_float(handle: Any) -> bool:
    return isinstance(handle, TensorHandle) and (handle.data.dtype.kind == "f" or is_bf16(handle))


def _width(handle: Any) -> float:
    """Instructions of a lane for one element: 16-bit results are computed in pairs."""
    return 0.5 if handle.data.dtype.itemsize == 2 else 1.0


def _flags(mask: Any) -> np.ndarray:
    """A mask as truth values: a scalar's part in it, ``mask & (row >= 0)``, makes bytes of it, which would be taken for places."""
    return np.asarray(mask).astype(bool, copy=False)


def _unmasked(name: str) -> Callable[..., Any]:
    """The builder's method, with its access counted as one that the source gives no mask."""
    original = getattr(InterpreterBuilder, name)

    def method(self: Builder, *args: Any, **named: Any) -> Any:
        self._masked = False
        try:
            return original(self, *args, **named)
        finally:
            self._masked = True

    return method


_WITHOUT_MASK: Tuple[str, ...] = (
    "create_load",
    "create_store",
    "create_tensor_pointer_load",
    "create_tensor_pointer_store",
    "create_descriptor_load",
    "create_descriptor_store",
)
for _name in _WITHOUT_MASK:
    if hasattr(InterpreterBuilder, _name):
        setattr(Builder, _name, _unmasked(_name))

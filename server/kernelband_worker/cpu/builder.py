"""Triton's interpreter with bfloat16 arithmetic, a guard on memory, and counts. A subclass: Triton's own builder stays as it is."""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from kernelband_worker.cpu.bf16 import decode, encode, is_bf16, lift, lower
from kernelband_worker.cpu.guard import Launch

_numpy_type: Callable[[Any], np.dtype] = interpreter._get_np_dtype

#: Operations on floats that count as one floating-point operation per element.
_ARITHMETIC = frozenset(
    getattr(np, name)
    for name in (
        "add",
        "subtract",
        "multiply",
        "divide",
        "fmod",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "exp",
        "exp2",
        "log",
        "log2",
        "sqrt",
    )
) | {np.sin, np.cos}


class Builder(InterpreterBuilder):
    """What ``tl`` functions call while a kernel is interpreted. ``launch`` is set while one runs."""

    def __init__(self) -> None:
        super().__init__()
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
        wanted = np.asarray(mask.data if isinstance(mask, TensorHandle) else mask)
        allowed = self._now.access("load", ptrs.data, wanted, numpy_type.itemsize, masked=self._masked)
        fill = np.zeros_like(ptrs.data, dtype=numpy_type) if other is None else other.data
        if allowed is not wanted:
            fill = np.where(wanted & ~allowed, np.zeros((), dtype=fill.dtype), fill)
        return TensorHandle(interpreter._interpreter.load(ptrs.data, allowed, fill, numpy_type), dtype)

    def create_masked_store(self, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:  # noqa: ARG002 - cache hints
        wanted = np.asarray(mask.data if isinstance(mask, TensorHandle) else mask)
        size = _numpy_type(ptrs.get_element_ty()).itemsize
        allowed = self._now.access("store", ptrs.data, wanted, size, masked=self._masked)
        return interpreter._interpreter.store(ptrs.data, value.data, allowed)

    def create_atomic_rmw(self, rmwOp: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:  # noqa: N803, PLR0917 - Triton's
        self._now.atomic()
        allowed = self._now.access("store", ptr.data, np.asarray(mask.data), val.data.dtype.itemsize, masked=self._masked)
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

    def _count(self, result: Any, op: Any) -> Any:
        if op in _ARITHMETIC and result.data.dtype.kind == "f" and self.launch is not None:
            self.launch.counter.operations(result.data.size)
        return result

    def binary_op(self, lhs: Any, rhs: Any, op: Any) -> Any:
        if is_bf16(lhs) or is_bf16(rhs):
            return lower(self._count(super().binary_op(lift(lhs), lift(rhs), op), op))
        return self._count(super().binary_op(lhs, rhs, op), op)

    def unary_op(self, arg: Any, op: Any) -> Any:
        if is_bf16(arg):
            return lower(self._count(super().unary_op(lift(arg), op), op))
        return self._count(super().unary_op(arg, op), op)

    def ternary_op(self, lhs: Any, rhs: Any, other: Any, op: Any) -> Any:
        if is_bf16(lhs) or is_bf16(rhs) or is_bf16(other):
            return lower(super().ternary_op(lift(lhs), lift(rhs), lift(other), op))
        return super().ternary_op(lhs, rhs, other, op)

    def create_fma(self, x: Any, y: Any, z: Any) -> Any:
        if self.launch is not None and z.data.dtype.kind == "f":
            self.launch.counter.operations(2 * max(x.data.size, y.data.size, z.data.size))
        if is_bf16(z):
            return lower(super().create_fma(lift(x), lift(y), lift(z)))
        return super().create_fma(x, y, z)

    def create_erf(self, arg: Any) -> Any:
        self._elements(arg)
        return lower(super().create_erf(lift(arg))) if is_bf16(arg) else super().create_erf(arg)

    def create_rsqrt(self, arg: Any) -> Any:
        self._elements(arg)
        return lower(super().create_rsqrt(lift(arg))) if is_bf16(arg) else super().create_rsqrt(arg)

    def _elements(self, arg: Any) -> None:
        if self.launch is not None:
            self.launch.counter.operations(arg.data.size)

    def create_dot(self, a: Any, b: Any, d: Any, *rest: Any, **named: Any) -> Any:
        if self.launch is not None:
            rows, inner, columns = a.data.shape[-2], a.data.shape[-1], b.data.shape[-1]
            self.launch.counter.operations(0)
            self.launch.counter.dot_flops += 2 * rows * inner * columns * int(np.prod(a.data.shape[:-2]))
        return super().create_dot(lift(a), lift(b), d, *rest, **named)

    # ------------------------------------------------------------ conversions

    def get_bf16(self, value: Any) -> Any:
        return TensorHandle(encode(np.array([value], dtype=np.float32)), tl.bfloat16)

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        if is_bf16(src):
            return self.cast_impl(lift(src), dst_type) if dst_type.scalar != tl.bfloat16 else src
        if dst_type.scalar == tl.bfloat16:
            return TensorHandle(encode(src.data.astype(np.float32)), tl.bfloat16)
        return super().cast_impl(src, dst_type)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        if is_bf16(src):
            lifted = lift(src)
            return lifted if dst_type.scalar == tl.float32 else self.create_fp_to_fp(lifted, dst_type, rounding_mode)
        if dst_type.scalar == tl.bfloat16:
            wide = src if src.data.dtype.kind == "f" else super().create_fp_to_fp(src, tl.float32, rounding_mode)
            if rounding_mode == interpreter._ir.ROUNDING_MODE.RTZ:
                whole = np.ascontiguousarray(wide.data, dtype=np.float32).view(np.uint32)
                return TensorHandle((whole >> np.uint32(16)).astype(np.uint16), tl.bfloat16)
            return TensorHandle(encode(wide.data), tl.bfloat16)
        return super().create_fp_to_fp(src, dst_type, rounding_mode)


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

"""Triton's interpreter as an adversary, under the worker's Python: what a GPU is free to do, it does.

- Programs start in either order.
- A loop that is told to run its loads ahead (``num_stages`` of ``tl.range``; the launch's where the kernel has products; ``flatten``)
  sees a store of an iteration only so many iterations later, as if the loads had been issued before it.
- Lanes that a mask leaves out hold garbage where no ``other`` is given.
- An access outside of the launch's tensors is an error.
- ``exp`` is ``exp2`` of a product, as on the hardware.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder, InterpreterOptions, TensorHandle

LOG2E = np.float32(1.4426950408889634)
OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg"}
STAGES = 3  # of a launch that doesn't say
GARBAGE = {"f": np.nan, "i": 77, "u": 77, "b": True}


class OutOfBounds(Exception):
    """An access that reaches past the tensors of its launch."""


class Delayed:
    """A loop under way. ``waiting``: stores with the iteration that they were made in."""

    def __init__(self, stages: int) -> None:
        self.stages, self.now = stages, 0
        self.waiting: list[tuple[int, Any]] = []


class Machine:
    """The interpreter's builder and grid, patched. ``hard``: as unfriendly as a GPU may be."""

    def __init__(self) -> None:
        self.hard = False
        self.record: Callable[..., None] | None = None
        self.config: dict[str, Any] | None = None  # that an autotuner has chosen for the launch at hand
        self._regions: list[tuple[int, int]] = []
        self._loops: list[Delayed] = []
        self._stages = 0  # of a plain loop in the launch at hand
        machine = self
        builder: Any = InterpreterBuilder
        load, store, rmw = builder.create_masked_load, builder.create_masked_store, builder.create_atomic_rmw

        def create_masked_load(self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **hints: Any) -> Any:
            machine._inside(ptrs, mask)
            if other is None and machine.hard:
                kind = interpreter._get_np_dtype(ptrs.get_element_ty())
                filled = np.full(np.shape(ptrs.data), GARBAGE[kind.kind], dtype=kind)
                other = TensorHandle(filled, ptrs.get_element_ty())
            return load(self, ptrs, mask, other, *rest, **hints)

        def create_masked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **hints: Any) -> Any:
            machine._inside(ptrs, mask)
            return machine._later(lambda: store(self, ptrs, value, mask, *rest, **hints))

        def create_atomic_rmw(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
            machine._inside(ptr, mask)
            return rmw(self, op, ptr, val, mask, *rest)

        builder.create_masked_load, builder.create_masked_store, builder.create_atomic_rmw = (
            create_masked_load,
            create_masked_store,
            create_atomic_rmw,
        )
        # The order of a product's sums isn't to follow from how numpy has laid out its operands.
        dot = builder.create_dot

        def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
            whole = (TensorHandle(np.ascontiguousarray(x.data), x.dtype) for x in (a, b))
            return dot(self, *whole, *rest)

        builder.create_dot = create_dot
        builder.create_exp = lambda self, arg: TensorHandle(np.exp2(arg.data * LOG2E), arg.dtype.scalar)
        # Once and for all: for each launch it would take longer than the launch.
        scope = interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
        scope.set_attr(tl, "range", machine.ranged)
        interpreter._patch_lang = lambda _: SimpleNamespace(restore=lambda: None)
        # Half of the time would go into asking each sum of integers whether it overflows.
        interpreter.interpreter_builder.options = InterpreterOptions(sanitize_overflow=False)
        GridExecutor.__call__ = lambda executor, *args, **named: machine._launch(executor, args, named)  # type: ignore[method-assign]

    # ------------------------------------------------------------ loops

    def ranged(self, *bounds: Any, num_stages: Any = None, flatten: Any = False, **_: Any) -> Any:
        """``tl.range``."""
        stages = int(num_stages) if num_stages else self._stages
        return self._delaying(range(*bounds), max(stages, STAGES) if flatten else stages)

    def plain(self, *bounds: Any) -> Any:
        """``range`` in a kernel's module: the host function's own outside of a launch."""
        return self._delaying(range(*bounds), self._stages) if self._stages > 1 else range(*bounds)

    def _delaying(self, values: Any, stages: int) -> Any:
        return self._delayed(values, stages) if self.hard and stages > 1 else values

    def _delayed(self, values: Any, stages: int) -> Iterator[Any]:
        loop = Delayed(stages)
        self._loops.append(loop)
        try:
            for loop.now, value in enumerate(values):
                while loop.waiting and loop.waiting[0][0] + stages <= loop.now:
                    self._done(loop)
                yield value
        finally:
            while loop.waiting:
                self._done(loop)
            self._loops.remove(loop)

    def _done(self, loop: Delayed) -> None:
        """The first waiting store happens; in a loop around this one it may still wait."""
        store = loop.waiting.pop(0)[1]
        outer = self._loops[: self._loops.index(loop)]
        if outer:
            outer[-1].waiting.append((outer[-1].now, store))
        else:
            store()

    def _later(self, store: Callable[[], Any]) -> None:
        if self._loops:
            self._loops[-1].waiting.append((self._loops[-1].now, store))
        else:
            store()

    # ------------------------------------------------------------ launches

    def _launch(self, executor: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        known = set(inspect.getfullargspec(executor.fn).args)
        options = {k: v for k, v in named.items() if k not in known}
        if not set(options) <= OPTIONS:
            raise KeyError(f"nobody knows {', '.join(sorted(set(options) - OPTIONS))}")
        given = inspect.getcallargs(executor.fn, *args, **{k: v for k, v in named.items() if k in known})
        for hook in executor.pre_run_hooks:
            hook(**given)
        grid = executor.grid(given) if callable(executor.grid) else executor.grid
        grid = tuple(int(n) for n in (grid if isinstance(grid, (tuple, list)) else (grid,)))
        grid += (1,) * (3 - len(grid))
        if any(n < 0 for n in grid) or grid[1] > 65535 or grid[2] > 65535:
            raise ValueError(f"no grid for a GPU: {grid}")
        if self.record is not None:
            self.record(executor, given, grid, options)
        self._regions = sorted(
            {(t.untyped_storage().data_ptr(), t.untyped_storage().data_ptr() + t.untyped_storage().nbytes()) for t in _tensors(given)}
        )
        products = "dot" in executor.fn.__code__.co_names
        stages = options.get("num_stages")
        self._stages = (STAGES if stages is None else int(stages)) if products else 0
        try:
            values = {k: v if k in executor.constexprs else interpreter._implicit_cvt(v) for k, v in given.items()}
            interpreter.interpreter_builder.set_grid_dim(*grid)
            programs = [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
            with np.errstate(all="ignore"):
                for program in reversed(programs) if self.hard else programs:
                    interpreter.interpreter_builder.set_grid_idx(*program)
                    executor.fn(**values)
        finally:
            self._stages = 0
            self._loops.clear()

    def _inside(self, ptrs: Any, mask: Any) -> None:
        """Every element that is accessed lies in a tensor of the launch."""
        wanted = ptrs.data[np.asarray(mask.data, dtype=bool)]
        if not wanted.size:
            return
        size = interpreter._get_np_dtype(ptrs.get_element_ty()).itemsize
        low, high = int(wanted.min()), int(wanted.max()) + size
        if any(start <= low and high <= end for start, end in self._regions):
            return
        inside = np.zeros(wanted.shape, dtype=bool)
        for start, end in self._regions:
            inside |= (wanted >= start) & (wanted + np.uint64(size) <= end)
        if not inside.all():
            raise OutOfBounds(f"{int((~inside).sum())} elements outside of the launch's tensors")

    @contextlib.contextmanager
    def at(self, hard: bool) -> Iterator[None]:
        """Friendly or not."""
        before, self.hard = self.hard, hard
        try:
            yield
        finally:
            self.hard = before


def _tensors(given: dict[str, Any]) -> Iterator[torch.Tensor]:
    for value in given.values():
        if isinstance(value, torch.Tensor):
            yield value

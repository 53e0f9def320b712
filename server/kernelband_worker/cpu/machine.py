"""The machine without a GPU: runs launches in the interpreter, some programs of each, and keeps what it finds."""

from __future__ import annotations

import os
import random
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle
from triton.runtime.jit import JITFunction

from kernelband_worker import held, triton_versions
from kernelband_worker.cpu.builder import Builder
from kernelband_worker.cpu.guard import Launch, Outside, sites
from kernelband_worker.cpu.language import Language
from kernelband_worker.cpu.memory import Memory, has_bare_pointers, regions_of
from kernelband_worker.cpu.traffic import Counter, Traffic
from kernelband_worker.errors import OperationFailed
from kernelband_worker.exercised import profiled
from kernelband_worker.sources import real_path
from kernelband_worker.state import State

#: Programs of a launch whose accesses are looked at in detail (sectors, unique bytes).
_DETAILED = 4
#: A launch whose programs take long is sampled less, down to so few programs, once this much effort (see ``Counter``) was spent on it.
_FEWEST = 4
_EFFORT = 2000.0
#: Seconds for all programs of a launch with atomics. What a launch that takes longer writes is unknown.
_ATOMIC_SECONDS = 20.0
_OWN = os.path.dirname(triton.__file__)


def machine_of(state: State) -> Machine:  # noqa: ARG001 - one per process; asked for by state like everything else
    """The machine that ``device.install`` made.

    Raises:
        OperationFailed: this executor has none.
    """
    machine = getattr(triton_versions.current_driver(), "machine", None)
    if machine is None:
        raise OperationFailed("This executor was not set up to run without a GPU.", "internal")
    return machine


class Machine:
    """Interprets launches.

    ``out_of_bounds`` holds ``{"path", "line", "kind", "message", "beside"}`` once per source line and kind of access (``beside``: how many
    bytes before and past which memory, by its address); ``memory`` says which elements are known (``memory.unknown(tensor)``).
    ``sampled``: some launch left programs out.
    """

    def __init__(self) -> None:
        self.memory = Memory()
        self.out_of_bounds: List[Dict[str, Any]] = []
        self.sampled = False
        self._builder = Builder()
        self._language = Language(self._builder)
        self._site_of = sites(_OWN)
        # The interpreter patches Triton's own modules: what another thread launches waits, as on a GPU's stream.
        self._lock = threading.Lock()
        self._thread = 0

    def launch(self, kernel: JITFunction[Any], arguments: Dict[str, Any], grid: Tuple[int, int, int], programs: int) -> Traffic:
        """Run at most so many programs of the grid (0: all); kernels with atomics run all of theirs.

        Raises:
            OperationFailed: the interpreter can't run the kernel, or the kernel itself is wrong; with its line.
        """
        if getattr(kernel, "is_gluon", lambda: False)():
            raise OperationFailed(
                f"{kernel.__name__} is a Gluon kernel: it needs a GPU, Triton's interpreter doesn't know Gluon.", "unsupported"
            )
        if self._thread == threading.get_ident():
            raise OperationFailed(f"{kernel.__name__} is launched from inside another kernel.", "unsupported")
        for hook in kernel.pre_run_hooks:
            hook(**arguments)
        # A check's profiler wants to know of the functions around a launch; inside, it would hear of a hundred calls for each operation.
        with profiled(None), self._alone(), torch._C.DisableTorchFunction():
            return self._launch(kernel, arguments, grid, programs)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            held.language = True  # first of all and to the last, for a stop between two lines would leave the thread there
            self._thread = threading.get_ident()
            try:
                yield
            finally:
                self._thread = 0
                held.language = False

    def _launch(self, kernel: JITFunction[Any], arguments: Dict[str, Any], grid: Tuple[int, int, int], programs: int) -> Traffic:
        total = grid[0] * grid[1] * grid[2]
        chosen = _ends_first(sample(total, programs))
        regions = regions_of(arguments)
        sampled = total > min(len(chosen), _FEWEST)
        launch = Launch(regions, self.memory, sampled=sampled, kernel=kernel.__name__, site_of=self._site_of, found=self._found)
        launch.made_pointers = has_bare_pointers(arguments)
        self._builder.launch = launch
        constant = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
        detailed = set(chosen[:_DETAILED])
        executed = 0
        try:
            with self._language.patched(), np.errstate(all="ignore"):
                body = self._language.body(kernel)
                values = {name: value if name in constant else _value(value) for name, value in arguments.items()}
                self._builder.set_grid_dim(*grid)
                for linear in _order(chosen, total, launch):
                    if _enough(executed, programs, launch.counter) and not launch.counter.atomics:
                        break
                    program = (linear % grid[0], linear // grid[0] % grid[1], linear // (grid[0] * grid[1]))
                    self._builder.set_grid_idx(*program)
                    launch.start(program, detailed=linear in detailed)
                    _run(body, values)
                    launch.counter.program_done(end=linear in (0, total - 1))
                    executed += 1
        except OperationFailed:
            raise
        except Exception as error:
            raise self._failure(kernel, error) from error
        finally:
            self._builder.launch = None
            launch.finish(executed, total)
            self.sampled |= executed < total
        return launch.counter.result(executed, total, [region.end - region.start for region in launch.regions])

    def _found(self, seen: Outside) -> None:
        place = (seen.path, seen.line, seen.kind)
        new: Dict[str, Any] = {"path": seen.path, "line": seen.line, "kind": seen.kind, "message": seen.message, "beside": {}}
        known = next((f for f in self.out_of_bounds if (f["path"], f["line"], f["kind"]) == place), new)
        if known is new:
            self.out_of_bounds.append(new)
        beside: Dict[int, Tuple[int, int]] = known["beside"]
        before, past = beside.get(seen.start, (0, 0))
        beside[seen.start] = (max(before, seen.before), max(past, seen.past))

    def _failure(self, kernel: JITFunction[Any], error: Exception) -> OperationFailed:
        path, line = "", 0
        trace = error.__traceback__
        while trace is not None:
            at = self._site_of(trace.tb_frame)
            if at[0] and at[0] == real_path(trace.tb_frame.f_code.co_filename):
                path, line = at[0], trace.tb_lineno
            trace = trace.tb_next
        cannot = isinstance(error, NotImplementedError) or (isinstance(error, AttributeError) and "Builder" in str(error))
        said = str(error) or type(error).__name__
        if cannot:
            message = f"{kernel.__name__} can't be run without a GPU: Triton's interpreter doesn't know what line {line} uses ({said})."
        else:
            message = f"{kernel.__name__} fails in Triton's interpreter at line {line}: {said}"
        return OperationFailed(message, "unsupported" if cannot else "entry_failed", path=path, line=line, detail=repr(error))


def _run(body: Callable[..., Any], values: Dict[str, Any]) -> None:
    try:
        held.language = False  # the program's own code: the stop may come
        body(**values)
    finally:
        held.language = True


def _enough(executed: int, asked: int, counter: Counter) -> bool:
    """Whether a launch has cost enough: after a few programs, or, where only a few were asked for, after one of each end that agree."""
    if asked <= 0 or counter.effort <= _EFFORT:
        return False
    return executed >= (_FEWEST if asked >= _FEWEST else 2) and (asked >= _FEWEST or counter.ends_agree())


def sample(total: int, programs: int) -> List[int]:
    """Which programs of a grid are run, by linear number, ascending: the first, the last, and then half evenly spread, half at random.

    The same for the same numbers, in every process.
    """
    if programs <= 0 or total <= programs:
        return list(range(total))
    if programs == 1:
        return [total - 1]  # the one most likely to meet a boundary
    chosen = {0, total - 1}
    spread = max(2, programs // 2)
    chosen.update(index * (total - 1) // (spread - 1) for index in range(spread))
    chooser = random.Random(total * 1_000_003 + programs)  # noqa: S311 - nothing secret
    while len(chosen) < programs:
        chosen.add(chooser.randrange(total))
    return sorted(chosen)


def _ends_first(chosen: List[int]) -> List[int]:
    """The first, the last, the middle, the quarters and so on: wherever one stops, what was run is spread over the grid."""
    out = dict.fromkeys(chosen[:1] + chosen[-1:])
    step = len(chosen)
    while len(out) < len(chosen):
        step = max(1, step // 2)
        out.update(dict.fromkeys(chosen[::step]))
    return list(out)


def _order(chosen: List[int], total: int, launch: Launch) -> Iterator[int]:
    """The chosen programs; once one of them works with atomics, every program of the grid, in order, while there is time."""
    done = set()
    for linear in chosen:
        done.add(linear)
        yield linear
        if launch.counter.atomics:
            break
    if launch.counter.atomics:
        end = time.monotonic() + _ATOMIC_SECONDS
        for linear in range(total):
            if linear not in done:
                if time.monotonic() > end:
                    return
                yield linear


def _value(value: Any) -> Any:
    """An argument as the interpreter takes it."""
    if isinstance(value, bool):  # before 3.9 it goes through as an int32 and is refused
        return tl.tensor(TensorHandle(np.array([value], dtype=np.bool_), tl.int1), tl.int1)
    if isinstance(value, float):  # goes through as a number, which has no methods and widens nothing; a compiled kernel gets a float32
        return tl.tensor(TensorHandle(np.array([value], dtype=np.float32), tl.float32), tl.float32)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return type(value)(_value(item) for item in value) if type(value) is tuple else interpreter._implicit_cvt(value)
    return interpreter._implicit_cvt(value)

"""What the entry does that capture must know of or cut short: torch.compile, other processes, benchmark loops, plots, bare launches.

Stands in for a few functions of torch, Triton and the standard library while the entry is imported and run, and puts them back.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing.process
import os
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Optional, Tuple

import torch
import triton.testing
from triton.runtime.jit import KernelInterface

from kernelband_worker.cases.recording import StopCapture
from kernelband_worker.reports import unplotted
from kernelband_worker.wrapped import timed_by_tuner


@dataclass
class Watched:
    """What was seen."""

    compiling: int = 0  # depth of torch.compile regions that are running
    compiled: bool = False
    processes: int = 0  # that the entry started, or wanted to be one of
    ended: bool = False  # the entry, where it would only have waited for them


@contextlib.contextmanager
def watching(
    watched: Watched, launching: Optional[Callable[..., Any]] = None, passed_over: Optional[Callable[[], bool]] = None
) -> Iterator[None]:
    """Watch the block. ``launching(kernel, grid, args, kwargs, run)`` stands before each ``kernel[grid](...)`` as written.

    A function given to torch.compile runs as it is, so that the kernel's launches are seen and can be refused by name.
    ``passed_over()`` is asked when a torch.testing.assert_close fails: True lets it pass, where only a sample of the programs ran.
    With ``launching`` an entry ends where it would only wait for other processes: what they launch can't be recorded.
    ``do_bench`` calls its function once: what is recorded is the call, and a benchmark would spend the capture's seconds on repeats. An
    autotuner, which chooses by the times, gets them: by one call, which compiles, it would choose what compiles fastest. A perf_report
    that the program runs itself draws no plot, for which it may have no libraries.
    """
    swaps: List[Tuple[Any, str, Any]] = [
        (torch, "compile", _compile(watched)),
        (multiprocessing.process.BaseProcess, "start", _start(watched, stops=launching is not None)),
        (triton.testing, "do_bench", _only_tuners(triton.testing.do_bench)),
        (triton.testing, "do_bench_cudagraph", _only_tuners(triton.testing.do_bench_cudagraph)),
        (triton.testing.Mark, "run", unplotted(triton.testing.Mark.run)),
    ]
    if passed_over is not None:
        swaps.append((torch.testing, "assert_close", _assert_close(passed_over)))
    if launching is not None:
        swaps.append((KernelInterface, "__getitem__", _getitem(launching)))
        if torch.distributed.is_available():
            swaps.append((torch.distributed, "init_process_group", _join(watched)))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in swaps]
    for owner, name, stand_in in swaps:
        setattr(owner, name, stand_in)
    try:
        yield
    finally:
        for owner, name, original in before:
            setattr(owner, name, original)


def _compile(watched: Watched) -> Callable[..., Any]:
    def compile_(model: Any = None, **options: Any) -> Any:
        if model is None:
            return functools.partial(compile_, **options)
        watched.compiled = True
        if isinstance(model, type):  # a class stays one, as under torch: its instances' calls are the region
            model.__call__ = compile_(model.__call__, **options)  # type: ignore[operator]
            return model
        if isinstance(model, torch.nn.Module):
            model.register_forward_pre_hook(_enter(watched))
            model.register_forward_hook(_leave(watched), always_call=True)
            return model

        @functools.wraps(model)
        def region(*args: Any, **kwargs: Any) -> Any:
            watched.compiling += 1
            try:
                return model(*args, **kwargs)
            finally:
                watched.compiling -= 1

        return region

    return compile_


def _enter(watched: Watched) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        watched.compiling += 1

    return hook


def _leave(watched: Watched) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        watched.compiling -= 1

    return hook


def _start(watched: Watched, *, stops: bool) -> Callable[[Any], None]:
    original = multiprocessing.process.BaseProcess.start

    def start(process: Any) -> None:
        watched.processes += 1
        if stops and getattr(getattr(process, "_target", None), "__module__", "") == "torch.multiprocessing.spawn":
            watched.ended = True
            raise StopCapture("processes")  # they take seconds to begin, and nothing of them is recorded
        original(process)

    return start


def _join(watched: Watched) -> Callable[..., None]:
    original = torch.distributed.init_process_group

    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> None:
        watched.processes += 1
        size = kwargs.get("world_size", -1)
        if (size if size > 0 else int(os.environ.get("WORLD_SIZE", "1"))) > 1:  # it would wait for half an hour
            raise RuntimeError("The other processes of this group are not started here.")
        original(*args, **kwargs)
        if torch.distributed.get_world_size() == 1:
            watched.processes -= 1

    return init_process_group


def _only_tuners(original: Callable[..., Any]) -> Callable[..., Any]:
    """In place of a benchmark: itself for an autotuner, Triton's or a project's own, and one call for anybody else."""

    @functools.wraps(original)
    def do_bench(*args: Any, **kwargs: Any) -> Any:
        return (original if timed_by_tuner() else _once)(*args, **kwargs)

    return do_bench


def _once(fn: Callable[[], Any], *_: Any, quantiles: Any = None, return_mode: str = "mean", **__: Any) -> Any:
    begin = time.perf_counter()
    fn()
    took = (time.perf_counter() - begin) * 1e3
    if quantiles is not None:
        return [took] * len(quantiles) if len(quantiles) > 1 else took
    return [took] if return_mode == "all" else took


def _assert_close(passed_over: Callable[[], bool]) -> Callable[..., None]:
    original = torch.testing.assert_close

    @functools.wraps(original)
    def assert_close(*args: Any, **kwargs: Any) -> None:
        try:
            original(*args, **kwargs)
        except AssertionError:
            if not passed_over():
                raise

    return assert_close


def _getitem(launching: Callable[..., Any]) -> Callable[..., Any]:
    original = KernelInterface.__getitem__

    def getitem(kernel: Any, grid: Any) -> Callable[..., Any]:
        runner = original(kernel, grid)

        def launch(*args: Any, **kwargs: Any) -> Any:
            return launching(kernel, grid, args, kwargs, lambda: runner(*args, **kwargs))

        return launch

    return getitem

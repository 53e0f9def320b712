"""Compiles the configurations of an autotuner side by side before it times them one after the other (Triton 3.5 and newer).

Triton compiles each when its turn comes: 30 configurations of a few seconds take a minute and a half, on one core. From 3.5 on a launch can
leave its compilation to threads, which hold Python's lock only until the first of its intermediate languages is made.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Callable, Dict, List, Sequence, Tuple

from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from kernelband_worker import triton_versions
from kernelband_worker.system import cpus
from kernelband_worker.wrapped import layers


class _Begun:
    """One compilation, and what Triton wants done with its end. From 3.9 on it stands among the compiled kernels until then."""

    def __init__(self, future: Future[Any]) -> None:
        self.future = future
        self.ends: List[Tuple[Callable[[Any], None], Callable[[Any], None]]] = []  # of each launch that comes to the same code

    def result(self) -> Any:
        """The kernel, for whoever meets this among the compiled ones: a launch of another thread."""
        return self.future.result()

    def end(self) -> None:
        """Take what it gave; what failed, or never began, is forgotten. One that runs yet is waited for: it would be begun anew."""
        if self.future.cancelled() or self.future.exception() is not None:
            self.forget()
            return
        while self.ends:
            self.ends.pop()[0](self.future.result())

    def forget(self) -> None:
        while self.ends:
            self.ends.pop()[1](self)


class _Aside:
    """What Triton hands compilations to while it is the active mode (``triton.runtime._async_compile``)."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self.begun: Dict[str, _Begun] = {}

    def submit(
        self,
        key: str,
        compile_fn: Callable[[], Any],
        finalize_fn: Callable[[Any], None],
        cleanup_fn: Callable[[Any], None] = lambda _: None,
    ) -> _Begun:
        if key not in self.begun:
            self.begun[key] = _Begun(self._pool.submit(compile_fn))
        self.begun[key].ends.append((finalize_fn, cleanup_fn))
        return self.begun[key]


def compile_all(tuner: Autotuner, configs: Sequence[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any], seconds: float) -> None:
    """Compile what the tuner is about to time for this launch. What can't be compiled is left to the tuner, which says so.

    Nothing is done where one thing after the other is as quick, or where a launch isn't known before its hooks were called.

    Args:
        tuner: about to time.
        configs: its configurations for this launch.
        args: positional arguments of the launch.
        kwargs: its keyword arguments, without those of a configuration.
        seconds: after these no further compilation begins.
    """
    active = triton_versions.compiling_mode()
    below = list(layers(tuner))[1:]
    wanted = [config for config in configs if config.pre_hook is None]
    if active is None or cpus() < 2 or seconds <= 0 or len(wanted) < 2:
        return
    if active.get() is not None or getattr(tuner, "user_defined_pre_hook", False):
        return
    if not below or not all(isinstance(layer, (Heuristics, JITFunction)) for layer in below) or below[-1].pre_run_hooks:
        return
    end = time.monotonic() + seconds
    pool = ThreadPoolExecutor(min(len(wanted), cpus()), "compile")
    aside = _Aside(pool)
    token = active.set(aside)
    try:
        for config in wanted:
            if not _handed_over(tuner, args, {**kwargs, **config.all_kwargs(), "warmup": True}):
                break
        wait([begun.future for begun in aside.begun.values()], max(0.0, end - time.monotonic()))
        pool.shutdown(wait=False, cancel_futures=True)
        for begun in aside.begun.values():
            begun.end()
    finally:
        active.reset(token)
        pool.shutdown(wait=False, cancel_futures=True)
        for begun in aside.begun.values():
            begun.forget()


def _handed_over(tuner: Autotuner, args: Tuple[Any, ...], launch: Dict[str, Any]) -> bool:
    try:
        tuner.fn.run(*args, **launch)
    except Exception:  # noqa: BLE001 - a heuristic of the program may raise anything, and will again when the tuner times: there it is told
        return False
    return True

"""Stand-ins for Triton's entry points, put there for a block: also in tuners that a project makes of Triton's, whenever it makes them."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Type

import triton.testing
from triton.runtime.autotuner import Autotuner

#: ``(Triton's own, tuner, args, kwargs)``: what stands in for a tuner's ``run`` or ``_bench``.
OfTuner = Callable[[Callable[..., Any], Autotuner, Tuple[Any, ...], Dict[str, Any]], Any]
#: ``(Triton's own, args, kwargs)``: what stands in for ``do_bench``.
OfBenchmark = Callable[[Callable[..., Any], Tuple[Any, ...], Dict[str, Any]], Any]

_HERE = threading.local()  # a backward pass launches from a thread of its own


class StandIns:
    """What is put in the place of something, and put back at the end of the block.

    Args:
        run: stands in for the ``run`` of autotuners.
        bench: for their ``_bench``.
        prune: for their ``prune_configs``.
        benchmark: for ``do_bench`` and its like.
    """

    def __init__(self, run: OfTuner, bench: OfTuner, prune: OfTuner, benchmark: OfBenchmark) -> None:
        self._of_tuners = (("run", run), ("_bench", bench), ("prune_configs", prune))
        self._benchmark = benchmark
        self._swapped: List[Tuple[Any, str, Any]] = []

    def __enter__(self) -> StandIns:
        for tuner in _made_of(Autotuner):
            self._cover(tuner)
        for name in ("do_bench", "do_bench_cudagraph"):
            before = getattr(triton.testing, name)
            self._put(triton.testing, name, before, self._of_benchmark(before))
        self._follow_subclasses()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        while self._swapped:
            owner, name, before = self._swapped.pop()
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def swap(self, owner: Any, name: str, stand_in: Callable[[Callable[..., Any]], Any]) -> Callable[..., Any]:
        """Put a stand-in there. What it is made for, and what is given back, is Triton's own, below a stand-in that is there already."""
        before = getattr(owner, name)
        own: Callable[..., Any] = getattr(before, "kernelband_original", before)
        function = stand_in(own)
        function.kernelband_original = own
        self._put(owner, name, before, function)
        return own

    def _put(self, owner: Any, name: str, before: Any, function: Any) -> None:
        self._swapped.append((owner, name, before))
        setattr(owner, name, function)

    def _cover(self, tuner: type) -> None:
        """An autotuner's class, Triton's or one made of it, where it runs or times in a way of its own."""
        for name, stand_in in self._of_tuners:
            if name in vars(tuner):
                self.swap(tuner, name, _of_tuner(stand_in))

    def _follow_subclasses(self) -> None:
        """Cover the classes that are made of an autotuner inside the block, as the program is imported."""
        before = vars(Autotuner).get("__init_subclass__")

        def init_subclass(cls: Any, **kwargs: Any) -> None:
            if before is None:
                super(Autotuner, cls).__init_subclass__(**kwargs)
            else:
                before.__func__(cls, **kwargs)
            self._cover(cls)

        self._put(Autotuner, "__init_subclass__", before, classmethod(init_subclass))

    def _of_benchmark(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def do_bench(*args: Any, **kwargs: Any) -> Any:
            return self._benchmark(own, args, kwargs)

        return do_bench


def _of_tuner(stand_in: OfTuner) -> Callable[[Callable[..., Any]], Any]:
    def make(own: Callable[..., Any]) -> Any:
        def method(tuner: Autotuner, *args: Any, **kwargs: Any) -> Any:
            return stand_in(own, tuner, args, kwargs)

        return method

    return make


def _made_of(tuner: type) -> Iterator[type]:
    """A class and those made of it."""
    yield tuner
    for made in tuner.__subclasses__():
        yield from _made_of(made)


def passing() -> bool:
    """Whether a tuner's trial run is going on on this thread."""
    return bool(getattr(_HERE, "passing", 0))


@contextlib.contextmanager
def passing_over() -> Iterator[bool]:
    """A tuner's trial run; whether it is in no other."""
    _HERE.passing = getattr(_HERE, "passing", 0) + 1
    try:
        yield _HERE.passing == 1
    finally:
        _HERE.passing -= 1


def alike(asked: Dict[str, Any]) -> Any:
    """What a benchmark answers of every configuration, so that the first is chosen. ``asked``: its options."""
    quantiles = asked.get("quantiles")
    if quantiles is not None:
        return [1.0] * len(quantiles) if len(quantiles) > 1 else 1.0
    return [1.0] if asked.get("return_mode") == "all" else 1.0

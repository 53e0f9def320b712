"""A program's ``triton.testing.perf_report``: run for its calls, without the plot and the table that it draws; or not run at all."""

from __future__ import annotations

import contextlib
import functools
import sys
from math import prod
from typing import Any, Callable, Iterator, List

#: What ``Mark.run`` takes for itself. All else goes to the function that is measured.
_SHOWN = ("show_plots", "print_data", "save_path", "return_df", "diff_col", "save_precision")
_POINTS = 3


def run_report(mark: Any, choose: Callable[[List[Any]], List[Any]] = list, **more: Any) -> None:
    """Its function for every line of the plot, at all sizes or those that ``choose`` leaves of them."""
    for bench in mark.benchmarks if isinstance(mark.benchmarks, list) else [mark.benchmarks]:
        for values in choose([x if isinstance(x, (list, tuple)) else [x] * len(bench.x_names) for x in bench.x_vals]):
            for line in bench.line_vals:
                mark.fn(**dict(zip(bench.x_names, values)), **{bench.line_arg: line}, **bench.args, **more)


def smallest(sizes: List[Any]) -> List[Any]:
    """Three that a machine without a GPU can compute."""
    return sorted(sizes, key=_problem)[:_POINTS]


def spread(sizes: List[Any]) -> List[Any]:
    """The smallest, one between and the largest, where the work decides and not its launch."""
    ordered = sorted(sizes, key=_problem)
    return ordered if len(ordered) <= _POINTS else [ordered[0], ordered[len(ordered) // 2], ordered[-1]]


def _problem(values: Any) -> float:
    return prod(value for value in values if isinstance(value, int) and value > 1)  # a flag or a rate is no size


def unplotted(original: Callable[..., Any], run: Callable[..., None] = run_report) -> Callable[..., Any]:
    """In place of ``Mark.run``: the program may have no libraries to draw with. Where it asks for the table, it gets it."""

    @functools.wraps(original)
    def stand_in(mark: Any, *options: Any, **more: Any) -> Any:
        given = {**dict(zip(_SHOWN, options)), **more}
        if given.get("return_df"):
            return original(mark, **given)
        return run(mark, **{name: value for name, value in given.items() if name not in _SHOWN})

    return stand_in


@contextlib.contextmanager
def left_out() -> Iterator[None]:
    """While modules are loaded whose functions will be called: a file that measures as it is loaded would do so again for each variant."""
    testing: Any = sys.modules.get("triton.testing")
    if testing is None:
        yield
        return
    before = testing.Mark.run
    testing.Mark.run = unplotted(before, _nothing)
    try:
        yield
    finally:
        testing.Mark.run = before


def _nothing(mark: Any, **more: Any) -> None:
    """No size at all."""

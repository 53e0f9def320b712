"""A program's ``triton.testing.perf_report``: run for its calls, without the plot and the table that it draws; or not run at all."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any, Callable, Iterator, Optional

#: What ``Mark.run`` takes for itself. All else goes to the function that is measured.
_SHOWN = ("show_plots", "print_data", "save_path", "return_df", "diff_col", "save_precision")


def run_report(mark: Any, points: Optional[int] = None, **more: Any) -> None:
    """Its function at all sizes, or at the first ``points``, for every line of the plot."""
    for bench in mark.benchmarks if isinstance(mark.benchmarks, list) else [mark.benchmarks]:
        for x in bench.x_vals[:points]:
            values = x if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            for line in bench.line_vals:
                mark.fn(**dict(zip(bench.x_names, values)), **{bench.line_arg: line}, **bench.args, **more)


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

"""What is around a jit function: Triton's autotuners and heuristics, and whatever a project puts there."""

from __future__ import annotations

import sys
from typing import Any, Iterator, Optional

from triton.runtime.jit import JITFunction

#: Where the wrapped one is held: Triton's own name first, then what projects call it.
INNER = ("fn", "jit_function", "_fn", "kernel", "func", "__wrapped__")
DEEPEST = 16  # wrappers around each other
MOST_FRAMES = 60  # of a tuner above a benchmark


def layers(found: Any) -> Iterator[Any]:
    """The object, what it wraps, what that wraps, down to the jit function; nothing where there is none."""
    kernel, path = found, []
    for _ in range(DEEPEST):
        path.append(kernel)
        if isinstance(kernel, JITFunction):
            yield from path
            return
        kernel = next((inner for name in INNER if (inner := _held(kernel, name)) is not None), None)


def _held(owner: Any, name: str) -> Optional[Any]:
    """What may be a kernel. Of instances only what they hold themselves: a property might do anything."""
    found = getattr(owner, "__dict__", {}).get(name) if not isinstance(owner, type) else None
    return found if isinstance(found, JITFunction) or hasattr(type(found), "__getitem__") else None


def jit_function(found: Any) -> Optional[JITFunction[Any]]:
    """The jit function inside; None when there is none."""
    return next((layer for layer in layers(found) if isinstance(layer, JITFunction)), None)


def timed_by_tuner(depth: int = 2) -> bool:
    """Whether a benchmark is called by something that chooses among a kernel's configurations: a method of what is launched as a kernel.

    Args:
        depth: frames between this function and the benchmark's caller.
    """
    frame: Any = sys._getframe(depth)
    for _ in range(MOST_FRAMES):
        if frame is None:
            return False
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        owner = frame.f_locals.get(names[0]) if names else None
        if hasattr(type(owner), "__getitem__") and not isinstance(owner, JITFunction) and jit_function(owner) is not None:
            return True
        frame = frame.f_back
    return False

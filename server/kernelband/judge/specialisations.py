"""What a variant's compilations cost whoever calls it with other sizes: nothing of that is in a time, so it is said beside the verdict.

A constexpr that holds a size, or follows one, is compiled anew for each size. How often the cases' sizes, neighbours included, make Triton
compile is known before anything is timed: each distinct launch was compiled ahead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median

from kernelband_worker.wire import CompileFacts


def remark(before: Mapping[str, CompileFacts], after: Mapping[str, CompileFacts], cases: int) -> str:
    """Of the kernel that a variant compiles more often than the original does; "" where there is none.

    Two kernels in place of one are no such thing: each kernel is held against the original's of its name, a new one against that of the
    original's that is compiled most often.

    Args:
        before: compile facts of the original by specialisation, over these cases.
        after: those of the variant.
        cases: how many calls they come from.
    """
    was, now = _compiled(before), _compiled(after)
    most = max(was.values(), default=0)
    more = {name: count - was.get(name, most) for name, count in now.items()}
    name = max(more, key=lambda n: more[n], default="")
    if not was or not name or more[name] <= 0:
        return ""
    own = [f["seconds"] for f in after.values() if f["kernel"]["qualname"] == name and not f["cache_hit"]]
    took = f", about {median(own):.1f} s each" if own else ""
    return (
        f"{name} is compiled {now[name]} times for {cases} cases, the original's {_often(was.get(name, most))}{took}: "
        "a call with a new size may wait for the compiler."
    )


def _often(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _compiled(facts: Mapping[str, CompileFacts]) -> Counter[str]:
    """How many specialisations of each kernel."""
    return Counter(f["kernel"]["qualname"] for f in facts.values())

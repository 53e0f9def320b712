"""What a group of hunks is called: what it changes, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kernelband.lsp.effects import Effects

MOST = 3  # names in one label
WHOLE = "all changes"


def labels(groups: Iterable[Sequence[Effects]]) -> list[str]:
    """One for each group, no two alike: ``ROWS: scale_kernel and its launch``."""
    plain = [label(group) for group in groups]
    count, seen = Counter(plain), Counter[str]()
    out: list[str] = []
    for said in plain:
        seen[said] += 1
        out.append(said if count[said] == 1 else f"{said} ({seen[said]} of {count[said]})")
    return out


def label(group: Sequence[Effects]) -> str:
    """Of one group."""
    what = _what(group)
    return f"{what}: {_where(group)}" if what else _where(group)


def _what(group: Sequence[Effects]) -> str:
    parameters = _in_order(name for e in group for name in e.parameters)
    changed = _in_order(name for e in group for name in (*e.variables, *_options(e)))
    hints = _in_order(name for e in group for name in e.hints)
    decorators = ["decorators"] if any(e.is_decorated for e in group) else []
    return _listed(parameters or changed or hints or decorators)


def _options(e: Effects) -> list[str]:
    """What it passes to launches otherwise."""
    return [key for f, key in sorted(e.passed) if f in e.launches and key.isidentifier()]


def _where(group: Sequence[Effects]) -> str:
    functions = _in_order(f for e in group for f in e.functions)
    launches = _in_order(f for e in group for f in e.launches)
    both = [f for f in functions if f in launches]
    if both:
        return f"{_listed(both, ' and ')} and {'its launch' if len(both) == 1 else 'their launches'}"
    if launches:
        return f"the launch of {_listed(launches, ' and ')}"
    return _listed([f or "the top level" for f in functions], " and ") or "lines between statements"


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _listed(names: Sequence[str], joint: str = ", ") -> str:
    return joint.join(names[:MOST]) + (" …" if len(names) > MOST else "")

"""Short names for the cases of a run: what tells one from the others, as ``x[4096, 4096]`` or ``n=4096``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

LONG = 32  # characters, up to which a name gets more than it takes to tell cases apart

_TENSOR = re.compile(r"(?P<dtype>[A-Za-z_]\w*)(?P<shape>\[[^\[\]]*\])")
_OPEN, _CLOSE = "([{", ")]}"


def case_names(cases: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A name for each case by its id; no two are the same.

    Args:
        cases: facts of the cases (wire.Case) that stand beside each other, such as a run's timing cases.
    """
    arguments = {str(c["id"]): _arguments(str(c["arguments"])) for c in cases}
    functions = {str(c["id"]): str(c["function"]["qualname"]) for c in cases}
    several = len(set(functions.values())) > 1
    names = {case: functions[case] if several or not values else "" for case, values in arguments.items()}
    for argument in _telling(list(arguments.values())):
        more = {case: _joined(names[case], _part(argument, case, arguments)) for case in arguments}
        if len(set(names.values())) == len(names) and all(names.values()) and max(map(len, more.values())) > LONG:
            break
        names = more
    alike = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {case: f"{name} ({case[:8]})" if name in alike or not name else name for case, name in names.items()}


def _telling(arguments: Sequence[Mapping[str, str]]) -> list[str]:
    """Names of the arguments that differ between cases, in their order; all when none does."""
    every = list(dict.fromkeys(name for values in arguments for name in values))
    return [name for name in every if len({values.get(name) for values in arguments}) > 1] or every


def _part(argument: str, case: str, arguments: Mapping[str, Mapping[str, str]]) -> str:
    """One argument of one case; the dtype of a tensor only where cases differ in it."""
    value = arguments[case].get(argument)
    if value is None:
        return ""
    found = _TENSOR.fullmatch(value)
    if found is None:
        return f"{argument}={value}"
    others = [_TENSOR.fullmatch(values[argument]) for values in arguments.values() if argument in values]
    same = {other["dtype"] if other else "" for other in others} == {found["dtype"]}
    return f"{argument}{found['shape']}" if same else f"{argument} {value}"


def _joined(name: str, part: str) -> str:
    return ", ".join(x for x in (name, part) if x)


def _arguments(line: str) -> dict[str, str]:
    """``x: float32[8, 8], n: 3`` by name. What isn't of that form is kept under itself."""
    out: dict[str, str] = {}
    for part in _split(line):
        name, colon, value = part.partition(":")
        out[name.strip()] = value.strip() if colon else name.strip()
    return out


def _split(line: str) -> list[str]:
    """At the commas that stand outside of brackets and quotes."""
    parts, depth, quote, start = list[str](), 0, "", 0
    for i, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN or char in _CLOSE:
            depth += 1 if char in _OPEN else -1
        elif char == "," and depth == 0:
            parts.append(line[start:i])
            start = i + 1
    return [p for p in (*(p.strip() for p in parts), line[start:].strip()) if p]

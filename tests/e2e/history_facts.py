"""All that a database holds, as facts by place, to compare two runs: what may differ is named, everything else counts."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

Facts = dict[str, Any]


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of JSON with its place: ``cases[0].facts.launches[0].grid[1]``. An empty list or object is a leaf."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from flat(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from flat(item, f"{place}[{index}]")
    else:
        yield place, value


def history(db: Path) -> Facts:
    """Every column of every table in the order of writing; columns of JSON are taken apart."""
    found: Facts = {}
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as base:
        base.row_factory = sqlite3.Row
        for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
            for index, row in enumerate(base.execute(f'SELECT * FROM "{table}" ORDER BY rowid')):
                found |= flat({column: _parsed(row[column]) for column in row.keys()}, f"{table}[{index}]")  # noqa: SIM118 - a Row
    return found


def _parsed(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.loads(value)
    return value


def differences(one: Facts, other: Facts, left_out: Iterable[str]) -> list[str]:
    """What differs, one line each. ``left_out``: places without indices that may differ, with all below them: ``cases.facts.replay_s``."""
    excused = tuple(left_out)
    return [
        f"{place}: {one.get(place, 'nothing')!r} and {other.get(place, 'nothing')!r}"
        for place in sorted({*one, *other})
        if not _same(one, other, place) and not any(_below(place, name) for name in excused)
    ]


def stale(facts: Facts, left_out: Iterable[str]) -> list[str]:
    """Names of ``left_out`` that nothing in the facts has."""
    return [name for name in left_out if not any(_below(place, name) for place in facts)]


def _below(place: str, name: str) -> bool:
    plain = re.sub(r"\[\d+\]", "", place).removeprefix(".")
    return plain == name or plain.startswith(name + ".")


def _same(one: Mapping[str, Any], other: Mapping[str, Any], place: str) -> bool:
    missing = object()
    a, b = one.get(place, missing), other.get(place, missing)
    return type(a) is type(b) and a == b

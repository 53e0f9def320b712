"""What the history keeps as JSON: figures without infinities, and launches without their compile facts, which have rows of their own; and
what the edits of a chain are together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from kernelband.hardware.work import Work
from kernelband.history.records import VariantRow
from kernelband_worker.wire import NUMERICS, CompileFacts

Word = TypeVar("Word", bound=str)


def finite(value: Any) -> Any:
    """The same with None for infinities and NaN, which JSON hasn't."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def works_to_json(works: Sequence[Work]) -> list[dict[str, Any]]:
    """Launches without their compile facts."""
    return [finite(attrs.asdict(w, filter=lambda a, _: a.name != "facts")) | {"key": w.facts["key"]} for w in works]


def works_in(forecast: Mapping[str, Any], facts: Mapping[str, CompileFacts]) -> tuple[Work, ...]:
    """The launches that were kept with a variant; without those whose code wasn't compiled."""
    kept: list[dict[str, Any]] = forecast.get("launches") or []
    return tuple(Work(facts=facts[w["key"]], **{k: v for k, v in w.items() if k != "key"}) for w in kept if w["key"] in facts)


def works_of(row: VariantRow, facts: Mapping[str, CompileFacts]) -> tuple[Work, ...] | None:
    """The same; None where they weren't kept, or not all facts."""
    kept = row.forecast.get("launches")
    return works_in(row.forecast, facts) if kept is not None and all(w["key"] in facts for w in kept) else None


def loosest(classes: Iterable[Word]) -> Word:
    """Of what several edits do to numbers, that of all together; a word of a later version is looser than those that are known.

    Raises:
        ValueError: there are none.
    """
    known: Sequence[str] = NUMERICS
    return max(classes, key=lambda c: known.index(c) if c in known else len(known))

"""Where each hint is described: in a file of this package, so that a link to it opens without a network."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PAGE = Path(__file__).with_name("diagnostics.md")


def address(code: str) -> str | None:
    """The ``file:`` address of a hint's description, with its line; None for a code without one, or where the file is missing."""
    line = _lines().get(code)
    return f"{PAGE.as_uri()}#L{line}" if line is not None else None


@cache
def _lines() -> dict[str, int]:
    try:
        text = PAGE.read_text(encoding="utf-8")
    except OSError:
        return {}
    return {line.removeprefix("## ").strip(): n for n, line in enumerate(text.split("\n"), 1) if line.startswith("## ")}

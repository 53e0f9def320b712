"""What each client shows, as docs/editors.md says: a session's test compares what it saw with its column of that table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "editors.md"


def column(client: str) -> dict[str, str]:
    """By row, the cell of a client."""
    rows = [[c.strip() for c in line.strip().split("|")[1:-1]] for line in PAGE.read_text().splitlines() if line.startswith("|")]
    head = next(i for i, row in enumerate(rows) if client in row)
    at = rows[head].index(client)
    return {row[0]: row[at] for row in rows[head + 2 :]}


def compare(client: str, seen: Mapping[str, bool]) -> None:
    """The table says yes where it was seen and no where it wasn't, and nothing of what no session looked at."""
    assert column(client) == {row: "yes" if shown else "no" for row, shown in seen.items()}

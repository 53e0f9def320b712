"""How a request is refused: what can't be done, and what isn't a name."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcException

REFUSED = -32803  # RequestFailed
NAME = 4096  # characters of a URI, a kernel or a run


class Refused(JsonRpcException):
    """What was asked for can't be done, and why, in a sentence for the user."""

    CODE = REFUSED

    def __init__(self, message: str) -> None:
        super().__init__(message=message, code=REFUSED)


def can_name(given: Any) -> bool:
    """Whether files and databases take it, as a name or a number."""
    if isinstance(given, int):
        return abs(given) < 2**31
    text = str(given)
    return len(text) <= NAME and "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)

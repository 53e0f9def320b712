"""sqlite-utils, imported without numpy and pandas.

It takes them along wherever they are installed, to store their value types. We store none, the server never loads numpy, and it is most of
the time of a start.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def _left_out(*names: str) -> Generator[None, None, None]:
    """As if these modules weren't installed; those that are loaded already stay."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType] - how Python itself spells "can't be imported"
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with _left_out("numpy", "pandas"):
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

__all__ = ["Database", "Migrations"]

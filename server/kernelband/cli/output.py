"""Where text goes: a console that doesn't squeeze tables when its output isn't a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200


def console() -> Console:
    """For tables: as wide as the terminal, wide without one."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDE)

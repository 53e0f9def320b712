"""Taking the standard streams away from prints, before anything else runs."""

from __future__ import annotations

import os
from typing import BinaryIO, Tuple


def take_streams() -> Tuple[BinaryIO, BinaryIO]:
    """The protocol's reader and writer, with fd 0 pointed at nothing and fd 1 at stderr: what prints becomes log."""
    reader = os.fdopen(os.dup(0), "rb")
    writer = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return reader, writer

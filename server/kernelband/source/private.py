"""Files of the user's own: what was chosen, trusted, or found before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, for the user only: the file is 0600, its folder, where it is new, 0700.

    Raises:
        OSError: it can't be written; what was there stays.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number, new = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)  # 0600
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(number)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise

"""File content by hash, kept in the scratch folder so that each goes over the connection once."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Optional


class Blobs:
    """A folder of files named by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder = folder

    def get(self, sha256: object) -> Optional[str]:
        """The content as base64, or None if it isn't here."""
        if not _is_hash(sha256):
            return None
        try:
            return base64.b64encode((self._folder / str(sha256)).read_bytes()).decode("ascii")
        except FileNotFoundError:
            return None

    def put(self, sha256: object, content: object) -> Optional[str]:
        """Keep what the engine sent as base64. Returns what is wrong with it, or None."""
        try:
            data = base64.b64decode(str(content), validate=True)
        except ValueError:
            return "isn't base64"
        if not _is_hash(sha256) or hashlib.sha256(data).hexdigest() != sha256:
            return "has another hash"
        file, path = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(file, "wb") as out:
            out.write(data)
        os.replace(path, self._folder / str(sha256))  # whole or not at all
        return None


def _is_hash(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) is not None

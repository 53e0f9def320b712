"""Facts that were read once are kept beside Triton's cache: reading machine code costs more than finding it there."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from typing import Any, Dict, Optional

from kernelband_worker.wire import LaunchSpec

_FORMAT = 3  # raise it when a fact changes its meaning
_FOLDER = "kernelband-facts"


def name(compiled: str, instructions: bool, launch: LaunchSpec, limit: Optional[int]) -> str:
    """File name for the facts of a compiled kernel (its Triton hash). Line numbers and warnings depend on the launch too."""
    beside = [compiled, instructions, _FORMAT, launch["kernel"], sorted(launch["scalars"].items()), limit]
    return hashlib.sha256(json.dumps(beside).encode()).hexdigest() + ".json"


def load(cache: Optional[str], file: str) -> Optional[Dict[str, Any]]:
    """The facts; None when they aren't there. A file that can't be read counts as absent and is written anew."""
    if not cache:
        return None
    try:
        with open(os.path.join(cache, _FOLDER, file), encoding="utf-8") as source:
            return json.load(source)
    except (OSError, ValueError):
        return None


def save(cache: Optional[str], file: str, facts: Dict[str, Any]) -> None:
    """Write whole or not at all: several executors share the folder, and any may be killed while writing."""
    if not cache:
        return
    folder = os.path.join(cache, _FOLDER)
    os.makedirs(folder, exist_ok=True)
    handle, path = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as target:
        json.dump(facts, target)
    os.replace(path, os.path.join(folder, file))

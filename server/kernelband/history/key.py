"""The key of a kernel's history: what must agree for a figure to hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from kernelband.source import form
from kernelband.source.model import Program

#: Settings that say where something is kept: they change no code.
FOLDERS = ("TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_DUMP_DIR")


def kernel_key(program: Program, cases: Sequence[Mapping[str, Any]], gpu: str, environment: Mapping[str, Any]) -> str:
    """Hash of kernel, helpers, host functions and the globals that they read, cases, GPU name, versions and TRITON_* settings.

    ``environment`` is wire.Environment.
    """
    versions: dict[str, Any] = {k: environment.get(k) for k in ("triton", "torch", "driver", "ptxas")}
    settings: dict[str, str] = environment.get("settings") or {}
    versions["settings"] = {k: v for k, v in settings.items() if k not in FOLDERS}
    known = [{k: c.get(k) for k in ("id", "boundary", "arguments", "role")} for c in cases]
    facts = [form(program), known, gpu, versions]
    return sha256(json.dumps(facts, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()

"""Patches as JSON, for the database."""

from __future__ import annotations

from typing import Any

from kernelband.source.model import Edit, FilePatch, Patch, Span


def patch_to_json(patch: Patch) -> list[dict[str, Any]]:
    """``[{"path", "base", "edits": [[start, end, new], …]}, …]``; offsets in characters."""
    return [{"path": f.path, "base": f.base, "edits": [[e.span.start, e.span.end, e.new] for e in f.edits]} for f in patch.files]


def patch_from_json(value: list[dict[str, Any]]) -> Patch:
    """The inverse of ``patch_to_json``."""
    return Patch(
        tuple(
            FilePatch(str(f["path"]), str(f["base"]), tuple(Edit(Span(int(a), int(b)), str(new)) for a, b, new in f["edits"]))
            for f in value
        )
    )

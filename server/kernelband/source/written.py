"""Kernels that a program writes as text and runs from there: they stand in no source file."""

from __future__ import annotations

import re

from kernelband.source.tree import parse, value, walk

#: ``@triton.jit`` at the start of a string or of a line in it.
WRITTEN = re.compile(r"""(?:^|\A[a-zA-Z]{0,2}["']{1,3}|\\n)[ \t]*@(?:\w+\.)*jit\b""", re.MULTILINE)


def written_kernel(text: str) -> int | None:
    """The line, from 1, of the first ``@triton.jit`` that stands in a string of a text; documentation left out."""
    if "jit" not in text:
        return None
    for node in walk(parse(text)):
        if node.type not in ("string", "fstring_string"):
            continue
        whole = node.parent if node.parent is not None and node.parent.type in ("strings", "fstring") else node
        found = None if whole.parent is not None and whole.parent.type == "simple_stmt" else WRITTEN.search(value(node))
        if found is not None:
            return node.start_pos[0] + value(node)[: found.end()].count("\n")
    return None

"""The kernels of a long text sooner than it can be read: from what is left of it without the bodies of functions that hold none.

What is left out becomes blanks, so every place stays where it is. A guess, made by the look of lines: where it is wrong, a kernel is missed
or its helpers are, until the whole text has been read.
"""

from __future__ import annotations

import re
from typing import cast

from parso.tree import NodeOrLeaf

from kernelband.source.kernels import kernels_of, may_have_kernels
from kernelband.source.model import Kernel
from kernelband.source.scopes import Scopes
from kernelband.source.syntax import tolerant_grammar

LONG = 100_000  # characters: reading them takes as long as one waits without noticing

#: A function or class at the margin with a blank line before it, and so no decorator, and all that is further in or closes its head.
_BLOCK = re.compile(r"(?:(?<=\n\n)|(?<=\n\r\n))(?:async[ \t]+)?(?:def|class)\b[^\n]*\n(?:(?:[ \t\r)\]}#][^\n]*)?\n)*")
_HEAD = re.compile(r".*?:[ \t]*(?:#[^\n]*)?\r?\n", re.DOTALL)
_BODY = "    pass\n"


def outlined_kernels(path: str, text: str) -> tuple[Kernel, ...]:
    """As ``find_kernels``, but of the outline. Never raises; text that is nested too deep to be read has no kernels."""
    if not may_have_kernels(text):
        return ()
    try:
        return kernels_of(path, Scopes(outline(text), lambda short: cast("NodeOrLeaf", tolerant_grammar().parse(short))))
    except RecursionError:
        return ()


def outline(text: str) -> str:
    """The text, as long as it was, without the bodies that can hold no kernel: they say neither jit nor that anything is decorated."""
    return _BLOCK.sub(_without_body, text)


def _without_body(block: re.Match[str]) -> str:
    whole = block[0]
    head = _HEAD.match(whole)
    if head is None or len(whole) - head.end() < len(_BODY) or "@" in whole or may_have_kernels(whole):
        return whole
    if head[0].count("(") != head[0].count(")") or any(part.count(quotes) % 2 for part in (head[0], whole) for quotes in ('"""', "'''")):
        return whole  # the head goes on, or a string with lines at the margin does
    return head[0] + _BODY[:-1].ljust(len(whole) - head.end() - 1) + "\n"

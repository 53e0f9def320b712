"""The part of a file that can matter to one kernel, found without a syntax tree: a large file's kernels are compared by what they need.

Text is cut at the beginnings of top-level statements. Kept are those that name the kernel or one of its aliases, the functions and classes
that they name, directly or through one another, and every statement that isn't a function or a class. That is more than the program and
what it reads, never less; it may be odd where a string has text at the left margin, and then it doesn't parse.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import lru_cache
from keyword import kwlist

from attrs import field, frozen

from kernelband.source.syntax import syntax_tree

_BEGIN = re.compile(r"^(?=[^\s)\]}#'\"])", re.MULTILINE)
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b")
_DEFINES = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")
_WORD = re.compile(r"[^\W\d]\w*")
_BINDS = re.compile(r"^[^=\n]*(?=(?<![=!<>])=(?!=))|^.*\b(?:import|def|class|as|for|global)\b.*", re.MULTILINE)
_KEYWORDS = frozenset(kwlist)


@frozen
class _Part:
    """Consecutive lines. ``defines`` is the function or class that they are, None for other statements; ``binds`` of those."""

    text: str = field(repr=False)
    defines: str | None
    words: frozenset[str] = field(repr=False)
    binds: frozenset[str] = field(repr=False)


def needed(texts: Mapping[str, str], kernel: str) -> dict[str, str]:
    """The texts without what can't matter to the kernel of that qualname, by path. Equal results: equal programs that read the same."""
    parts = [(path, part) for path, text in texts.items() for part in _parts(text)]
    seeds = frozenset(kernel.split("."))
    wanted: set[int] = set()
    words: frozenset[str] = seeds
    before = -1
    while before != len(wanted):
        before = len(wanted)
        for i, (_, part) in enumerate(parts):
            if i in wanted:
                continue
            names = not seeds.isdisjoint(part.words)
            if names and part.defines is None:
                seeds |= part.binds  # they may be the kernel's other names
            if names or (part.defines in words if part.defines is not None else not words.isdisjoint(part.binds)):
                wanted.add(i)
                words |= part.words
    out = dict.fromkeys(texts, "")
    for i, (path, part) in enumerate(parts):
        if i in wanted or part.defines is None:
            out[path] += part.text + "\n\n"
    return out


def parses(texts: Mapping[str, str]) -> bool:
    """Whether this Python reads all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is the user's business
        try:
            for text in texts.values():
                syntax_tree(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


@lru_cache(maxsize=8)
def _parts(text: str) -> tuple[_Part, ...]:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    starts = [0]
    decorated = False
    for found in _BEGIN.finditer(text):
        at = found.start()
        if at and not decorated and not _GOES_ON.match(text, at):
            starts.append(at)
        decorated = text[at] == "@"
    return tuple(_part(text[a:b].rstrip()) for a, b in zip(starts, [*starts[1:], len(text)], strict=True))


@lru_cache(maxsize=4096)
def _part(text: str) -> _Part:
    defines = None
    for found in _BEGIN.finditer(text):
        if text[found.start()] != "@":
            named = _DEFINES.match(text, found.start())
            defines = named.group(1) if named is not None else None
            break
    return _Part(text, defines, _words(text), _words("\n".join(_BINDS.findall(text))) if defines is None else frozenset())


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text)) - _KEYWORDS

"""Reads a model's answer: variants, each a sentence and fenced blocks that hold whole functions. Markdown is read by markdown-it.

The form that is asked for (``prompt.FORM``)::

    ## Variant: one sentence, what changes
    Why: one sentence, which fact makes it worth trying

    ```python NAME
    def NAME(...): ...
    ```

Read generously: a block's name may be left out where its ``def`` tells it, headings may be of any level, text around is passed over, and
what a model thinks aloud between ``<think>`` marks too. What can't be read is a sentence in ``problems``, never an exception.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import field, frozen

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_VARIANTS = 8
MAX_SENTENCE = 240
_LANGUAGES = frozenset({"python", "py", "python3", "triton", ""})
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_DEF = re.compile(r"^[ \t]*def[ \t]+(\w+)", re.MULTILINE)
_NUMERICS = re.compile(r"numerics\s*[:=]\s*\W*(exact|reassociates|lowers_precision)", re.IGNORECASE)


@frozen
class Written:
    """One variant as it was written. ``blocks``: function texts by label. ``lowers``: it says that it lowers precision."""

    what: str
    why: str
    blocks: dict[str, str] = field(repr=False)
    lowers: bool = False


@frozen
class Answer:
    """What could be read, and what couldn't."""

    variants: tuple[Written, ...]
    problems: tuple[str, ...] = ()


def read(text: str, labels: Iterable[str], *, complete: bool = True) -> Answer:
    """The variants of an answer.

    Args:
        text: what came back.
        labels: of the functions that may be rewritten.
        complete: False where the answer was cut off: then the last variant may be, too, and isn't used.
    """
    from markdown_it import MarkdownIt

    known = tuple(labels)
    text = _THINKING.sub("", text.replace("\r\n", "\n"))
    lines = text.split("\n")
    variants: list[_Reading] = [_Reading()]
    last_is_open = False
    tokens = MarkdownIt("commonmark").parse(text)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _plain(tokens[at + 1])
            if not title.lower().lstrip("*_ ").startswith(("variant", "candidate", "option")) and not variants[-1].blocks:
                continue
            variants.append(
                _Reading(title=_sentence(re.sub(r"^\W*(?:variant|candidate|option)\b(?:[\s(#]*\d+\b)?\W*", "", title, flags=re.I)))
            )
        elif token.type == "inline" and tokens[at - 1].type == "paragraph_open":
            variants[-1].hear(token.content)
        elif token.type == "fence":
            last_is_open = not _is_closed(token, lines)
            if last_is_open:
                variants[-1].problems.append("Its last block doesn't end: the answer was cut off.")
            variants[-1].take(token, known)
    read_ = [v for v in variants if v.blocks or v.problems]
    problems = [f"{v.title or 'A variant'}: {p}" for v in read_ for p in v.problems]
    if not complete and read_:
        problems.append("The answer was cut off: its last variant isn't used.")
        read_ = read_[:-1]
    whole = [v.written() for v in read_ if v.blocks and not v.problems]
    if not whole and not problems:
        problems.append("There is no fenced block with one of the functions in it.")
    return Answer(tuple(whole[:MAX_VARIANTS]), tuple(problems))


class _Reading:
    def __init__(self, title: str = "") -> None:
        self.title, self.why, self.lowers = title, "", False
        self.blocks: dict[str, str] = {}
        self.problems: list[str] = []

    def hear(self, text: str) -> None:
        for line in text.split("\n"):
            plain = line.strip(" *_->")
            if plain.lower().startswith("why"):
                self.why = _sentence(plain[3:].lstrip(" *_:"))
            found = _NUMERICS.search(line)
            if found:
                self.lowers |= found[1].lower() == "lowers_precision"

    def take(self, token: Token, known: tuple[str, ...]) -> None:
        language, _, rest = token.info.strip().partition(" ")
        if language.lower() not in _LANGUAGES and not (language in known and not rest):
            return
        label = _label(rest.strip() if language.lower() in _LANGUAGES else language, token.content, known)
        if not label:
            defined = _DEF.search(token.content)
            if defined or rest.strip():
                name = rest.strip() or (defined[1] if defined else "?")
                self.problems.append(f"There is no function {name[:80]} that may be rewritten: {', '.join(known)}.")
            return
        if label in self.blocks and self.blocks[label] != token.content:
            self.problems.append(f"It has {label} twice.")
        self.blocks[label] = token.content

    def written(self) -> Written:
        return Written(self.title or f"{', '.join(self.blocks)} rewritten", self.why, dict(self.blocks), self.lowers)


def _label(named: str, content: str, known: tuple[str, ...]) -> str:
    """What a block is for: by its name, else by the one function of that name which it defines."""
    cleaned = re.sub(r"^(?:edit|function|file|name|title)\s*[:=]\s*", "", named, flags=re.I).strip("`'\"{}() ")
    if cleaned in known:
        return cleaned
    first = _DEF.search(content)
    for name in (cleaned, first[1] if first and not cleaned else ""):
        ends = [k for k in known if name and re.split(r"::|\.", k)[-1] == name]
        if len(ends) == 1:
            return ends[0]
    return ""


def _is_closed(token: Token, lines: list[str]) -> bool:
    if token.map is None:
        return False
    last = lines[token.map[1] - 1].strip() if token.map[1] <= len(lines) else ""
    return token.map[1] - token.map[0] >= 2 and last.startswith(token.markup) and not last.strip(token.markup[0])


def _plain(token: Token) -> str:
    return " ".join(token.content.split())


def _sentence(text: str) -> str:
    """One line of it, shown to people: no control characters, no markup, not long."""
    line = "".join(c for c in " ".join(text.split()) if c.isprintable()).replace("`", "").strip("* ")
    return line if len(line) <= MAX_SENTENCE else f"{line[: MAX_SENTENCE - 1]}…"

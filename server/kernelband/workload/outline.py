"""A file in outline, by its characters alone: what it imports, and which names each of its top-level statements uses.

A walk over a workspace looks into hundreds of files, broken ones and ones for newer Pythons among them: a tree of each would take minutes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import cached_property, lru_cache

from attrs import field, frozen

_LITERALS = re.compile(
    r"""#[^\n]*|[rbfuRBFU]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?''')|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL
)
_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*[ \t]*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n;\\]|\\\n)*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_DEF = re.compile(r"(async[ \t]+)?(def|class)[ \t]+(\w+)")
_BOUND = re.compile(r"(\w+)[ \t]*(?:\[[^\n]*?\][ \t]*)?(?::[^=\n]+)?(?:[|+]?=)(?!=)")
_TARGETS = re.compile(r"\(?((?:\w+[ \t]*,[ \t]*)+\w+)\)?[ \t]*=(?!=)")
_CHANGED = re.compile(r"(\w+)[.\[]")  # TABLE.update(...), TABLE["a"].append(...)
_MAIN = re.compile(r"if\b[^\n]*\b__name__\b[^\n]*__main__|if\b[^\n]*__main__[^\n]*\b__name__\b")
_COMPOUND = re.compile(r"(?:if|elif|else|try|except|finally|with|for|while)\b")
_USES = re.compile(r"""\.?[A-Za-z_]\w*(?:[ \t]*\.[ \t]*[A-Za-z_]\w*)*|"[\w.:]+"|'[\w.:]+'""")


@frozen
class Import:
    """``local`` stands for ``member`` of ``module`` (dots in front as written), or for the module itself."""

    local: str
    module: str
    member: str | None = None


@frozen
class Block:
    """A statement at the top of a module, or right below an ``if``, ``try`` or the like there: a function or class with its decorators, an
    assignment or change of a name, the part for when the file is run, or any other.
    """

    kind: str  # "def" | "async" | "class" | "bound" | "main" | "other"
    names: tuple[str, ...]  # that it binds
    text: str = field(repr=False)  # without comments and long strings

    @property
    def name(self) -> str:
        return self.names[0] if self.names else ""

    @cached_property
    def decorators(self) -> str:
        """Their text, ``@`` included."""
        found = re.search(r"^(?:async[ \t]+)?(?:def|class)[ \t]", self.text, re.MULTILINE)
        return self.text[: found.start()] if found else ""

    @property
    def header(self) -> str:
        """``class name(bases):`` or ``def name(parameters):``."""
        return self.text[len(self.decorators) : _header_end(self.text)]

    @cached_property
    def uses(self) -> frozenset[str]:
        """See ``uses``."""
        return uses(self.text)

    @cached_property
    def body(self) -> tuple[Block, ...]:
        """What a class holds."""
        head = _header_end(self.text)
        return tuple(_blocks(textwrap.dedent(self.text[head:].lstrip("\n")))) if head else ()


@frozen
class Outline:
    """A file's imports, wherever they stand; the modules that it imports everything of; its blocks in source order."""

    imports: tuple[Import, ...]
    stars: tuple[str, ...]
    text: str = field(repr=False)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(_blocks(_plain(self.text)))


@lru_cache(maxsize=8192)
def outline(text: str) -> Outline:
    """The outline of a text; its blocks are read when they are asked for."""
    imports: list[Import] = []
    stars: list[str] = []
    for found in _FROM.finditer(text):
        module = found[1].replace(" ", "").replace("\t", "")
        listed = re.sub(r"#[^\n]*|[()\\]", " ", found[2])
        for part in listed.split(","):
            words = part.split()
            if words == ["*"]:
                stars.append(module)
            elif words and words[0].isidentifier():
                imports.append(Import(words[2] if len(words) == 3 and words[1] == "as" else words[0], module, words[0]))
    for found in _IMPORT.finditer(text):
        for part in found[1].split(","):
            words = part.split()
            if words:
                imports.append(Import(words[2] if len(words) == 3 else words[0], words[0]))
    return Outline(tuple(imports), tuple(stars), text)


def uses(text: str) -> frozenset[str]:
    """What a text without comments reads, as written: of ``a.b.c`` the names ``a``, ``a.b`` and ``a.b.c``, and ``.b`` and ``.c`` as
    attributes of who knows what; of a string that is one word, that word in double quotes.
    """
    out: set[str] = set()
    for found in set(_USES.findall(text)):
        if found[0] in "\"'":
            out.add(f'"{found[1:-1]}"')
            continue
        parts = [p.strip() for p in found.split(".")]
        out |= {f".{p}" for p in parts[1:]}
        if parts[0]:
            out |= {".".join(parts[: n + 1]) for n in range(len(parts))}
    return frozenset(out)


def signature(block: Block) -> str:
    """``def name(parameters): pass`` of a function, without its decorators."""
    return f"{block.header} pass"


def _plain(text: str) -> str:
    """Without comments, and with long strings emptied: no line of it is one of a string's."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return _LITERALS.sub(lambda m: m[0] if m[1] else "" if m[0].startswith("#") else '""', text)


def _blocks(text: str) -> Iterator[Block]:
    for piece in _pieces(text):
        if _MAIN.match(piece):
            yield Block("main", (), piece)
        elif _COMPOUND.match(piece):
            head = _header_end(piece)
            inner = piece[head:]
            yield Block("other", (), piece[:head])
            yield from _blocks(textwrap.dedent(inner.lstrip("\n")) if "\n" in inner.strip("\n") or inner[:1] == "\n" else inner.strip())
        else:
            yield _block(piece)


def _block(piece: str) -> Block:
    at = 0
    if piece.startswith("@"):
        found = re.search(r"^(?:async[ \t]+)?(?:def|class)[ \t]", piece, re.MULTILINE)
        at = found.start() if found else 0
    defined = _DEF.match(piece, at)
    if defined:
        return Block("async" if defined[1] else defined[2], (defined[3],), piece)
    several = _TARGETS.match(piece)
    if several:
        return Block("bound", tuple(n.strip() for n in several[1].split(",")), piece)
    bound = _BOUND.match(piece) or _CHANGED.match(piece)
    return Block("bound", (bound[1],), piece) if bound else Block("other", (), piece)


def _pieces(text: str) -> Iterator[str]:
    """Statements that start in the first column; what only goes on (an ``else`` has blocks of its own) isn't one."""
    lines: list[str] = []
    decorated = False
    depth = 0
    for line in text.splitlines(keepends=True):
        starts = depth <= 0 and line[0] not in " \t\n)]}" and not decorated
        if starts and lines:
            yield "".join(lines)
            lines = []
        lines.append(line)
        bare = re.sub(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", "", line)
        if depth <= 0 and line[0] not in " \t\n":
            decorated = line.startswith("@")
        depth += sum(bare.count(c) for c in "([{") - sum(bare.count(c) for c in ")]}")
        if depth < 0 or (re.match(r"(?:@|(?:async[ \t]+)?def |class )", line) and bare.rstrip().endswith(":")):
            depth = 0  # a text that is being typed
    if lines:
        yield "".join(lines)


def _header_end(text: str) -> int:
    """Behind the colon that ends ``def``, ``class``, ``if`` and so on; 0 where there is none."""
    start = re.search(r"^(?:async[ \t]+)?(?:def|class)[ \t]", text, re.MULTILINE)
    depth, quote, at = 0, "", start.start() if start else 0
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char in (quote, "\n") else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == ":" and depth <= 0:
            return at + 1
        at += 1
    return 0

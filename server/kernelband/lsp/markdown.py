"""Words of others in Markdown of ours: names, arguments and notes come from the user's text or from a model, and stay text."""

from __future__ import annotations

import re
import unicodedata

#: What could begin a link, a picture, code, emphasis, a table cell or a tag.
_SPECIAL = frozenset("\\`*[]!|~#")
_TAGS = {"<": "&lt;", "&": "&amp;"}
_UNDERSCORES = re.compile(r"(?<!\w)_+|_+(?!\w)")  # those within a word are no emphasis, and many editors show a backslash as it is

#: What our Markdown has that isn't text: code, what was escaped, emphasis, pictures.
_MARKS = re.compile(r"(`+) ?(.*?) ?\1(?!`)|\\(.)|&(lt|amp);|\*+|!\[(.*?)\]\(.*?\)", re.DOTALL)


def escaped(text: str) -> str:
    """``text`` on one line, shown as it is. Characters that hide or turn round others are left out; addresses are no links."""
    out = "".join(_TAGS.get(c, f"\\{c}" if c in _SPECIAL else c) for c in _plain(text))
    out = _UNDERSCORES.sub(lambda m: "\\_" * len(m[0]), out)
    # Editors make links of bare addresses too: a backslash inside keeps it an address to read.
    return re.sub(r"(?i)(www)\.", r"\1\\.", out.replace("://", ":\\//").replace("@", "\\@"))


def as_code(text: str) -> str:
    """``text`` on one line as code, whatever backticks it has. A bar is spelled so that a table keeps its columns."""
    text = _plain(text).replace("|", "\u00a6")
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    fence = "`" * (longest + 1)
    gap = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{gap}{text}{gap}{fence}"


def as_text(markdown: str) -> str:
    """Markdown of ours without its marks, for clients that show text as it is."""
    return _MARKS.sub(_unmarked, markdown)


def _unmarked(mark: re.Match[str]) -> str:
    _, code, character, tag, picture = mark.groups()
    return code or character or {"lt": "<", "amp": "&"}.get(tag, picture or "")


def shortened(text: str, most: int) -> str:
    """At most that many characters."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _plain(text: str) -> str:
    """One line of what can be seen: no control and no formatting characters (Unicode Cc, Cf), no lone surrogates."""
    seen = (c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    return " ".join("".join(seen).split())

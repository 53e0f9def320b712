"""A patch as text: a unified diff that ``git apply`` and ``patch -p1`` take."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path

from kernelband.source.model import Patch
from kernelband.source.tree import BOM

NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(texts: Mapping[str, str], patch: Patch, root: str, *, marked: Collection[str] = ()) -> str:
    """The patch as a diff of paths relative to ``root`` (absolute ones elsewhere), line ends as they are in the texts.

    Args:
        texts: the base texts by path.
        patch: what is shown.
        root: the folder in which the diff will be applied.
        marked: paths whose files start with a byte order mark (it isn't part of the text; see ``Workspace.marked``).

    Raises:
        StaleText: a text isn't the one that the patch was made for.
    """
    after = patch.apply(dict(texts))
    out: list[str] = []
    for file in patch.files:
        mark = BOM if file.path in marked else ""
        old, new = mark + texts[file.path], mark + after[file.path]
        if old == new:
            continue
        name = _relative(file.path, root)
        a, b = _quoted("a/" + name), _quoted("b/" + name)
        tail = "\t" if " " in name else ""  # as git does: a name with blanks ends in a tab
        out.append(f"diff --git {a} {b}\n")
        lines = difflib.unified_diff(_lines(old), _lines(new), a + tail, b + tail, n=3, lineterm="\n")
        out += [line if line.endswith("\n") else line + "\n" + NO_NEWLINE for line in lines]
    return "".join(out)


def _lines(text: str) -> list[str]:
    r"""Split at ``\n`` only, as git does: ``str.splitlines`` would cut at form feeds and lone carriage returns."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _relative(path: str, root: str) -> str:
    try:
        return Path(path).relative_to(root).as_posix()
    except ValueError:
        return Path(path).as_posix().lstrip("/")


def _quoted(name: str) -> str:
    """C-quoted when git would have to: quotes, backslashes and control characters."""
    if not any(c in '"\\' or ord(c) < 32 or ord(c) == 127 for c in name):
        return name
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
    return '"' + "".join(known.get(c) or (f"\\{ord(c):03o}" if ord(c) < 32 or ord(c) == 127 else c) for c in name) + '"'

"""The pages: every link leads somewhere, every page is in the index, and what the program or its sources call by a page's name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "vscode-extension" / "README.md"]
HINTS = ROOT / "server" / "kernelband" / "explain" / "diagnostics.md"
SOURCES = [path for folder in ("server", "tests", "benchmarks", "vscode-extension/src") for path in (ROOT / folder).rglob("*.[pt][ys]")]
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_NAMED = re.compile(r"\bdocs/([\w-]+\.md)\b")


def prose(text: str) -> str:
    """Without code: what looks like a link there is none."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchor(heading: str) -> str:
    """As GitHub makes it: lower case, punctuation gone, blanks as dashes."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(line.lstrip("# ")) for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")}


@pytest.mark.parametrize("page", [*PAGES, HINTS], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", link):
            assert link.startswith("https://"), link
            continue
        path, _, place = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        assert not place or place in anchors(target), link


def test_every_page_is_in_the_index() -> None:
    listed = set(_LINK.findall((DOCS / "README.md").read_text(encoding="utf-8")))
    assert {page.name for page in DOCS.glob("*.md")} - listed == {"README.md"}


def test_pages_that_sources_name_are_there() -> None:
    named = {(path, name) for path in SOURCES for name in _NAMED.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert [(str(path), name) for path, name in named if not (DOCS / name).is_file()] == []

"""A variant that was put in is known again: after formatters, git's comings and goings, another name, in a copy."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, editor

BIN = Path(sys.executable).parent
FORMATTERS = {
    "ruff": [str(BIN / "ruff"), "format", "--isolated", "--line-length", "60"],
    "black": [str(BIN / "black"), "-q", "--line-length", "50"],
}


def git(home: Home, *words: str) -> None:
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, *words], cwd=home.work, check=True, capture_output=True, timeout=60)


async def taken(home: Home) -> tuple[str, str]:
    """A file with a variant in it, saved: its text, and what its lens says then."""
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        best = (await ed.actions("tl.store"))[0]
        assert best.command is not None
        await ed.execute(best.command)
        lens = (await ed.eventually(ed.lenses, lambda found: any("than the original" in t for t in found)))[0]
        home.file.write_text(ed.text)
        return ed.text, lens


async def said(home: Home, file: Path) -> str:
    """The first lens of a file, in a server that has just begun."""
    home.file = file
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        return (await ed.eventually(ed.lenses, lambda found: bool(found) and found[0] != "Optimize"))[0]


async def reverted(home: Home) -> bool:
    """Whether the original is back after what an action offers, though nobody wrote the variant so; the file stays as it is."""
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: bool(found) and "than the original" in found[0])
        (back,) = [a for a in await ed.actions("tl.store") if a.title.startswith("Revert ")]
        assert back.command is not None
        answer = await ed.execute(back.command)
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely faster on"))  # its variants, to be put in
        return answer == {"applied": True}


@pytest.mark.asyncio
async def test_it_is_known_again(searched: Home) -> None:
    home = searched
    git(home, "init", "-q", "-b", "main")
    git(home, "add", ".")
    git(home, "commit", "-q", "-m", "as it was")
    text, lens = await taken(home)
    for name, command in FORMATTERS.items():
        subprocess.run([*command, str(home.file)], check=True, capture_output=True, timeout=60)
        assert home.file.read_text() != text, name
        assert await said(home, home.file) == lens, name
        assert await reverted(home), name
        home.file.write_text(text)

    git(home, "commit", "-q", "-a", "-m", "faster")
    git(home, "checkout", "-q", "HEAD~1")
    assert (await said(home, home.file)).startswith("likely faster on")  # the variants, to be put in
    git(home, "checkout", "-q", "main")
    assert await said(home, home.file) == lens

    other = home.work / "elsewhere" / "scaling.py"
    other.parent.mkdir()
    shutil.copy(home.file, other)
    assert await said(home, other) == lens  # a copy
    home.file = home.work / "scale.py"
    home.file.unlink()
    assert await said(home, other) == lens  # and now it is the file by another name

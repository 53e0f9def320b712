"""Programs in the texts of variants: what a search of the whole workspace would find, without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.search.options import Options
from kernelband.search.start import read
from kernelband.search.variant_texts import VariantTexts
from kernelband.source import Workspace, find_others, find_program
from tests.unit.propose.test_others import TEXT

MORE = "from both import scaled\n\nTABLE = {'scaled': scaled}\n"


class Setup:
    """As much of a setup as is asked for."""

    def __init__(self, path: str) -> None:
        self.options = Options(path, kernel="scaled")
        self.workspace, self.program = read(self.options)


@pytest.mark.parametrize("more", ["", MORE])
def test_what_is_found_is_what_the_workspace_has(tmp_path: Path, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "both.py")
    Path(path).write_text(TEXT)
    (tmp_path / "more.py").write_text(more)
    (tmp_path / "other.py").write_text("print('scaled, shifted')\n")
    texts = VariantTexts(Setup(path))  # type: ignore[arg-type]
    edited = {path: TEXT.replace("256", "1024")}
    workspace = Workspace.for_file(path, edited)
    expected = find_program(workspace, path, "scaled")
    opened: list[str] = []
    mentions = Workspace.mentions
    monkeypatch.setattr(Workspace, "mentions", lambda self, where, word: opened.append(where) or mentions(self, where, word))
    found = texts.program(edited)
    others = texts.others(found)
    assert not any(where.endswith("other.py") for where in opened), "nothing of the original's is there"
    assert found == expected
    assert bool(found.handed_on) == bool(more)
    assert others == find_others(workspace, expected)


def test_of_the_original_the_others_are_those_that_were_found_first(tmp_path: Path) -> None:
    path = str(tmp_path / "both.py")
    Path(path).write_text(TEXT)
    setup = Setup(path)
    texts = VariantTexts(setup)  # type: ignore[arg-type]
    first = texts.others(setup.program)
    assert [p.kernel.place.name for p in first] == ["shifted"]
    assert texts.others(setup.program) is first

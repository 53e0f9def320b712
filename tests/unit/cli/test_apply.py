"""``apply --diff``: what git takes at the root of the repository, wherever in it the kernel stands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from kernelband.cli.apply import apply
from kernelband.history import Store, runs, trials
from kernelband.search.patches import patch_to_json
from kernelband.source import between
from tests.unit.history.rows import run_row, variant_row


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_git_takes_the_patch_at_its_root(tmp_path: Path, mark: str) -> None:
    repository, database = tmp_path / "repository", tmp_path / "history.db"
    file = repository / "kernels" / "add.py"
    file.parent.mkdir(parents=True)
    file.write_text(mark + "BLOCK = 64\nWARPS = 4\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    base = {str(file): "BLOCK = 64\nWARPS = 4\n"}
    patch = between(base, {str(file): "BLOCK = 128\nWARPS = 4\n"})
    with Store.write(database) as store:
        runs.begin(store, run_row(path=str(file)), base)
        trials.write(store, trials.Rows(variants=(evolve(variant_row(), patch=patch_to_json(patch)),)))
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--diff", "--db", str(database)])
    assert done.exit_code == 0, done.output
    subprocess.run(["git", "apply", "-"], input=done.output, text=True, cwd=repository, check=True)
    assert file.read_text(encoding="utf-8") == mark + "BLOCK = 128\nWARPS = 4\n"

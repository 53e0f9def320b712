"""``apply --diff``: what git takes at the root of the repository, wherever in it the kernel stands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from kernelband.cli.apply import apply
from kernelband.history import Store, runs, trials
from kernelband.source import Workspace, between, patch_to_json
from tests.unit.history.rows import run_row, trial_row, variant_row


def kept(database: Path, file: Path, old: str, new: str) -> None:
    """A run of that text with one variant."""
    patch = between({str(file): old}, {str(file): new})
    with Store.write(database) as store:
        runs.begin(store, run_row(path=str(file)), {str(file): old})
        trials.write(store, trials.Rows(variants=(evolve(variant_row(), patch=patch_to_json(patch)),)))


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_git_takes_the_patch_at_its_root(tmp_path: Path, mark: str) -> None:
    repository, database = tmp_path / "repository", tmp_path / "history.db"
    file = repository / "kernels" / "add.py"
    file.parent.mkdir(parents=True)
    file.write_text(mark + "BLOCK = 64\nWARPS = 4\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    kept(database, file, "BLOCK = 64\nWARPS = 4\n", "BLOCK = 128\nWARPS = 4\n")
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--diff", "--db", str(database)])
    assert done.exit_code == 0, done.output
    subprocess.run(["git", "apply", "-"], input=done.output, encoding="utf-8", cwd=repository, check=True)
    assert file.read_text(encoding="utf-8") == mark + "BLOCK = 128\nWARPS = 4\n"


def test_a_variant_goes_into_the_cells_of_a_notebook(tmp_path: Path) -> None:
    database, file = tmp_path / "history.db", tmp_path / "scale.ipynb"
    raw = (Path(__file__).parents[2] / "fixtures" / "notebooks" / "scale.ipynb").read_bytes()
    file.write_bytes(raw)
    old = Workspace.for_file(str(file)).read(str(file))
    kept(database, file, old, old.replace("BLOCK=64", "BLOCK=128").replace("2.0 * tl.load", "2 * tl.load"))
    shown = CliRunner().invoke(apply, ["a1b2c3/1", "--diff", "--db", str(database)])
    assert shown.exit_code == 0, shown.output
    assert "+    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=128)\n" in shown.stdout
    assert "git can't apply" in shown.stderr
    assert file.read_bytes() == raw
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--db", str(database)])
    assert done.exit_code == 0, done.output
    assert file.read_bytes() == raw.replace(b"BLOCK=64", b"BLOCK=128").replace(b"2.0 * tl.load", b"2 * tl.load") != raw
    with Store.read(database) as store:
        assert [d.decision for d in trials.decisions(store, "a1b2c3")] == ["accept"]
    again = CliRunner().invoke(apply, ["a1b2c3/1", "--db", str(database)])
    assert "has changed" in str(again.exception)


def test_what_is_wrong_or_read_only_stays_out(tmp_path: Path) -> None:
    database, file = tmp_path / "history.db", tmp_path / "add.py"
    file.write_text("BLOCK = 64\n")
    kept(database, file, "BLOCK = 64\n", "BLOCK = 128\n")
    file.chmod(0o444)
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--db", str(database)])
    assert f"{file} is read-only" in str(done.exception)
    file.chmod(0o644)
    with Store.write(database) as store:
        trials.write(store, trials.Rows(trials=(evolve(trial_row(), correctness="wrong", performance="not_measured"),)))
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--db", str(database)])
    assert "its trial says: wrong" in str(done.exception)
    assert file.read_text() == "BLOCK = 64\n"
    with Store.read(database) as store:
        assert trials.decisions(store, "a1b2c3") == ()
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--output", str(tmp_path / "out"), "--db", str(database)])
    assert done.exit_code == 0, done.output
    with Store.read(database) as store:
        assert trials.decisions(store, "a1b2c3") == (), "a copy elsewhere is no decision"

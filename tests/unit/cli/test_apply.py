"""``apply --diff``: what git takes at the root of the repository, wherever in it the kernel stands."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from click.testing import CliRunner

from kernelband.cli.apply import apply
from kernelband.cli.revert import revert
from kernelband.history import Store, runs, trials
from kernelband.history.records import FinalRow
from kernelband.source import Workspace, between, patch_to_json
from tests.e2e.cli_world import KERNEL
from tests.unit.history.rows import run_row, trial_row, variant_row


def kept(database: Path, file: Path, old: str, new: str, **more: Any) -> None:
    """A run of that text with one variant."""
    patch = between({str(file): old}, {str(file): new})
    with Store.write(database) as store:
        runs.begin(store, run_row(path=str(file), **more), {str(file): old})
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
    subprocess.run(["git", "apply", "-"], input=done.stdout, encoding="utf-8", cwd=repository, check=True)
    assert file.read_text(encoding="utf-8") == mark + "BLOCK = 128\nWARPS = 4\n"


def test_a_variant_goes_into_the_cells_of_a_notebook(tmp_path: Path) -> None:
    database, file = tmp_path / "history.db", tmp_path / "scale.ipynb"
    raw = (Path(__file__).parents[2] / "fixtures" / "notebooks" / "scale.ipynb").read_bytes()
    file.write_bytes(raw)
    old = Workspace.for_file(str(file)).read(str(file))
    kept(database, file, old, old.replace("BLOCK=64", "BLOCK=128").replace("2.0 * tl.load", "2 * tl.load"), kernel="scale_kernel")
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
    back = CliRunner().invoke(revert, ["a1b2c3", "--db", str(database)])
    assert back.exit_code == 0, back.output
    assert file.read_bytes() == raw


FINAL = FinalRow("a1b2c3", 1, False, 1.84, 1.8, 1.88, {}, seconds=1.0)
COMMENT, DIFFERENT = "# one program a block", "3.0 * tl.load"


def test_the_text_may_be_commented_and_the_program_is_the_same(tmp_path: Path) -> None:
    database, file = tmp_path / "history.db", tmp_path / "scale.py"
    file.write_text(KERNEL)
    kept(database, file, KERNEL, KERNEL.replace("BLOCK=64", "BLOCK=128"), kernel="scale_kernel")
    mine = KERNEL.replace("# each program scales one block", COMMENT)
    file.write_text(mine)
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--db", str(database)])
    assert done.exit_code == 0, done.output
    assert file.read_text() == mine.replace("BLOCK=64", "BLOCK=128")
    assert done.output.endswith("Variant 1 of run a1b2c3: BLOCK 64→128: not verified.\n")
    more = file.read_text().replace(COMMENT, f"{COMMENT} of elements")
    file.write_text(more)
    for named in ("a1b2c3", "a1b2c3/1"):
        file.write_text(more)
        done = CliRunner().invoke(revert, [named, "--db", str(database)])
        assert done.exit_code == 0, done.output
        assert file.read_text() == more.replace("BLOCK=128", "BLOCK=64")
    file.write_text(mine.replace("2.0 * tl.load", DIFFERENT))
    for command, arguments in ((apply, ["a1b2c3/1"]), (revert, ["a1b2c3/1"])):
        done = CliRunner().invoke(command, [*arguments, "--db", str(database)])
        assert "has changed since" in str(done.exception)
    assert DIFFERENT in file.read_text()


def test_nothing_is_taken_out_that_nobody_took(tmp_path: Path) -> None:
    database, file = tmp_path / "history.db", tmp_path / "scale.py"
    file.write_text(KERNEL)
    kept(database, file, KERNEL, KERNEL.replace("BLOCK=64", "BLOCK=128"), kernel="scale_kernel")
    done = CliRunner().invoke(revert, ["a1b2c3", "--db", str(database)])
    assert "No variant of run a1b2c3 was applied" in str(done.exception)


@pytest.mark.parametrize(
    ("mode", "made", "said"),
    [
        (
            "measured",
            {"finals": (FinalRow("a1b2c3", 1, True, 1.84, 1.8, 1.88, {}, seconds=1.0),)},
            "verified 1.84× (1.80 to 1.88) on h100.",
        ),
        ("measured", {"finals": (evolve(FINAL, verified=True),)}, "verified 1.84× (1.80 to 1.88) on h100."),
        ("measured", {"finals": (FINAL,)}, "not verified."),
        ("measured", {"trials": (trial_row(),)}, "not verified."),
        ("predicted", {"trials": (evolve(trial_row(), correctness="interpreted"),)}, "likely faster on h100, predicted and not measured."),
    ],
)
def test_what_is_known_of_it_is_said(tmp_path: Path, mode: str, made: dict[str, Any], said: str) -> None:
    database, file = tmp_path / "history.db", tmp_path / "scale.py"
    file.write_text(KERNEL)
    kept(database, file, KERNEL, KERNEL.replace("BLOCK=64", "BLOCK=128"), kernel="scale_kernel", mode=mode)
    with Store.write(database) as store:
        runs.update(store, "a1b2c3", state="finished")
        with store.transaction() as base:
            base.execute("UPDATE variants SET forecast = ?", ['{"tier": "likely faster"}'])
        trials.write(store, trials.Rows(**made))
    done = CliRunner().invoke(apply, ["a1b2c3/1", "--db", str(database)])
    assert done.output.splitlines()[-1] == f"Variant 1 of run a1b2c3: BLOCK 64→128: {said}"
    shown = CliRunner().invoke(apply, ["a1b2c3/1", "--diff", "--db", str(database)])
    assert shown.stderr == f"Variant 1 of run a1b2c3: BLOCK 64→128: {said}\n"
    assert said not in shown.stdout


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
    assert done.output.endswith(": not verified, its trial says: wrong.\n")
    with Store.read(database) as store:
        assert trials.decisions(store, "a1b2c3") == (), "a copy elsewhere is no decision"

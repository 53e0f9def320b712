"""``kernelband optimize`` on a real file in real processes, without a GPU: predicted, explained, resumable; the workspace untouched."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli_world import KERNEL, Done, Home

MODE = ("--trials", "3", "--seed", "1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Home:
    home = Home(tmp_path_factory.mktemp("optimize"), worker_python)
    subprocess.run(["git", "init", "-q"], cwd=home.work, check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "add", "."], cwd=home.work, check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"], cwd=home.work, check=True)
    return home


@pytest.fixture(scope="module")
def run(home: Home) -> Done:
    done = home.optimize("scale.py", *MODE)
    assert done.code == 0, done.err
    return done


def test_a_run_from_file_to_result(home: Home, run: Done) -> None:
    (started,) = run.named("run_started")
    (ended,) = run.named("run_ended")
    assert (started["mode"], started["kernel"]) == ("predicted", "scale_kernel")
    assert (ended["state"], ended["run"]) == ("finished", started["run"])
    assert ended["counts"]["executed"] == 3
    assert ended["counts"]["proposed"] >= 3
    assert ended["clock"]
    assert abs(sum(v for k, v in ended["clock"].items() if not k.startswith("background")) - ended["seconds"]) < 2.0
    phases = {e["phase"] for e in run.named("phase_changed")}
    assert {"capture", "baseline", "compile", "check", "commit", "done"} <= phases


def test_nothing_looks_measured(run: Done) -> None:
    for trial in run.named("trial_ended"):
        assert trial["score"] is None
        assert trial["outcome"] in ("likely_faster", "unclear", "likely_slower"), trial
        assert trial["fact"]
    assert run.named("final_ended") == []
    (ended,) = run.named("run_ended")
    assert ended["reason"].startswith("predicted")
    assert ended["verified"] == []


def test_the_workspace_is_unchanged(home: Home, run: Done) -> None:
    assert (
        subprocess.run(["git", "status", "--porcelain", "--ignored"], cwd=home.work, capture_output=True, text=True, check=True).stdout
        == ""
    )


def test_history_show_and_apply(home: Home, run: Done, tmp_path: Path) -> None:
    db = ("--db", str(home.db))
    run_id = run.named("run_started")[0]["run"]
    listed = json.loads(home.run("history", *db, "--json").out)
    assert run_id in [r["id"] for r in listed]
    shown = home.run("show", run_id, *db)
    assert shown.code == 0
    assert "predicted" in shown.out
    assert not re.search(r"\d [uµ]s\b|\d\.\d\d[x×]", shown.out), shown.out
    everything = json.loads(home.run("show", run_id, *db, "--json").out)
    assert len(everything["trials"]) == 3
    diff = home.run("apply", f"{run_id}/1", "--diff", *db)
    assert diff.out.startswith("diff --git a/scale.py b/scale.py")
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(home.file, copy)
    subprocess.run(["git", "apply", "-"], input=diff.out, text=True, cwd=copy, check=True)
    elsewhere = home.run("apply", f"{run_id}/1", "--output", str(tmp_path / "out"), *db)
    assert elsewhere.code == 0
    assert (tmp_path / "out" / "scale.py").read_bytes() == (copy / "scale.py").read_bytes()
    assert home.file.read_text() == KERNEL


def test_apply_in_place_keeps_the_mode_and_refuses_another_text(home: Home, run: Done) -> None:
    db = ("--db", str(home.db))
    run_id = run.named("run_started")[0]["run"]
    home.file.chmod(0o640)
    try:
        done = home.run("apply", f"{run_id}/1", *db)
        assert done.code == 0, done.err
        assert home.file.read_text() != KERNEL
        assert "# each program scales one block" in home.file.read_text()
        assert home.file.stat().st_mode & 0o777 == 0o640
        assert done.out.splitlines()[-1].endswith(", predicted and not measured.")
        again = home.run("apply", f"{run_id}/1", *db)
        assert again.code == 3
        assert f"has changed since run {run_id}" in again.sentence
        back = home.run("revert", "last", *db)
        assert back.code == 0, back.err
        assert home.file.read_text() == KERNEL
        assert home.file.stat().st_mode & 0o777 == 0o640
        assert sorted(p.name for p in home.work.iterdir()) == [".git", "scale.py"]
    finally:
        home.file.write_text(KERNEL)
        home.file.chmod(0o644)


def test_an_unsaved_buffer_is_optimized_as_shown(home: Home, tmp_path: Path) -> None:
    buffer = tmp_path / "buffer.py"
    buffer.write_text(KERNEL.replace("2.0 * ", "3.0 * ").replace("2 * x", "3 * x"))
    done = home.optimize("scale.py", "--trials", "1", "--overlay", f"scale.py={buffer}")
    assert done.code == 0, done.err
    run_id = done.named("run_started")[0]["run"]
    diff = home.run("apply", f"{run_id}/1", "--diff", "--db", str(home.db)).out
    assert "3.0 * " in diff or "3.0" not in KERNEL
    stale = home.run("apply", f"{run_id}/1", "--db", str(home.db))
    assert (stale.code, home.file.read_text()) == (3, KERNEL)


def events_until(process: subprocess.Popen[str], name: str, seconds: float = 120.0) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    end = time.monotonic() + seconds
    assert process.stdout is not None
    while time.monotonic() < end:
        line = process.stdout.readline()
        if not line:
            break
        out.append(json.loads(line))
        if out[-1]["event"] == name:
            return out
    raise AssertionError(f"no {name} in {[e['event'] for e in out]}")


def test_ctrl_c_keeps_everything_and_resume_goes_on(home: Home) -> None:
    process = home.popen("optimize", "scale.py", "--trials", "20", "--db", str(home.db), "--python", home.python, "--json")
    events = events_until(process, "trial_ended")
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=500)
    assert process.returncode == 130, home.said.read_text()
    ended = json.loads(rest.splitlines()[-1])
    assert (ended["event"], ended["state"]) == ("run_ended", "interrupted")
    run_id = events[0]["run"] if events[0]["event"] == "run_started" else next(e["run"] for e in events if e["event"] == "run_started")
    assert f"--resume {run_id}" in ended["reason"]
    best = ended["best"]
    assert ("best so far" in ended["reason"]) == (best is not None)
    listed = home.run("history", "--db", str(home.db)).out
    assert (f"variant {best} likely faster" if best else "nothing likely faster") in " ".join(listed.split())
    before = json.loads(home.run("show", run_id, "--db", str(home.db), "--json").out)
    kept = len(before["trials"])
    assert kept >= 1
    done = home.run("optimize", "--resume", run_id, "--trials", str(kept + 1), "--db", str(home.db), "--json")
    assert done.code == 0, done.err
    assert done.named("run_started")[0]["resumed"]
    after = json.loads(home.run("show", run_id, "--db", str(home.db), "--json").out)
    assert after["trials"][:kept] == before["trials"]
    assert len(after["trials"]) == kept + 1
    finished = home.run("optimize", "--resume", run_id, "--db", str(home.db))
    assert finished.code == 7
    assert "nothing to resume" in finished.sentence

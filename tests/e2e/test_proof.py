"""A proof from one folder checked in another one by a real worker without a GPU, and what is refused before any worker starts."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kernelband.explain.prooffile import read_proof
from tests.e2e.cli_world import Done, Home
from tests.e2e.searched import SCALE_WITH_BENCH

FASTER = SCALE_WITH_BENCH.replace("(n, 64)", "(n, 512)").replace("BLOCK=64", "BLOCK=512")


def commit(home: Home) -> None:
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=home.work, check=True, capture_output=True)


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> tuple[Done, Path]:
    """An edit that was judged, and its proof."""
    home = Home(tmp_path_factory.mktemp("proven"), worker_python)
    home.file.write_text(SCALE_WITH_BENCH)
    commit(home)
    home.file.write_text(FASTER)
    words = ("--db", str(home.db), "--python", home.python, "--proof", "scale.proof.json", "--fail-on", "wrong")
    return home.run("verify", "scale.py", *words), home.work / "scale.proof.json"


@pytest.fixture
def home(tmp_path: Path, worker_python: str, proven: tuple[Done, Path]) -> Home:
    """Another folder with the same program, whatever the first one's edit was, and the proof."""
    home = Home(tmp_path, worker_python)
    home.file.write_text(SCALE_WITH_BENCH)
    if proven[1].exists():
        shutil.copy(proven[1], home.work / "p.json")
    return home


def sealed(path: Path, **more: Any) -> None:
    """The proof with other fields, and with the seal that they have."""
    body = json.loads(path.read_text()) | more
    del body["seal"]
    seal = sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    path.write_text(json.dumps(body | {"seal": seal}))


def test_it_is_confirmed_by_another_process_in_another_folder(home: Home, proven: tuple[Done, Path]) -> None:
    done, path = proven
    assert done.code == 0, done.err
    proof = read_proof(str(path))
    assert (proof.mode, proof.correctness, proof.tier, proof.pairs) == ("predicted", "interpreted", "likely faster", ())
    assert str(path.parent) not in path.read_text()
    checked = home.run("check", "p.json", "--seconds", "240", "--db", str(home.db), "--python", home.python, "--json")
    assert checked.code == 0, (checked.err, checked.out)
    assert (checked.events[-1]["event"], checked.events[-1]["outcome"]) == ("proof_checked", "confirmed")


def test_an_edit_that_is_wrong_fails_and_leaves_no_proof(home: Home) -> None:
    commit(home)
    home.file.write_text(SCALE_WITH_BENCH.replace("2.0 * tl.load", "3.0 * tl.load"))
    words = ("--db", str(home.db), "--python", home.python, "--proof", "wrong.json", "--fail-on", "wrong")
    done = home.run("verify", "scale.py", *words)
    assert (done.code, (home.work / "wrong.json").exists()) == (12, False), done.err
    assert "No proof is written to wrong.json" in done.err
    assert home.run("verify", "scale.py", *words[:4], "--fail-on", "slower").code == 6


def test_the_best_of_a_search(home: Home, proven: tuple[Done, Path]) -> None:
    done = home.optimize("scale.py", "--trials", "2", "--seed", "7", "--proof", "best.json")
    assert done.code == 0, done.err
    proof, best = read_proof(str(home.work / "best.json")), done.named("run_ended")[0]["best"]
    assert proof.what == next(t["what"] for t in done.named("trial_ended") if t["variant"] == best)
    assert proof.files[0].before == read_proof(str(proven[1])).files[0].before


def test_what_runs_nothing(home: Home, tmp_path: Path) -> None:
    started = tmp_path / "started"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ntouch {started}\nexec {home.python} "$@"\n')
    python.chmod(0o755)
    proof = home.work / "p.json"
    text = proof.read_text()

    def check(name: str = "p.json") -> tuple[int, str]:
        before = home.snapshot()
        done = home.run("check", name, "--db", str(home.db), "--python", str(python))
        said = done.err.splitlines() + done.out.splitlines()
        assert len(said) == 1, said
        assert home.snapshot() == before
        assert not started.exists()
        return done.code, said[0]

    assert check("gone.json") == (3, "There is no proof gone.json: check the name and the folder that you are in.")
    proof.write_text(text[: len(text) // 2])
    assert check() == (3, "p.json isn't a whole proof: it is cut off, or isn't JSON.")
    proof.write_text(text.replace('"made_up": false', '"made_up": true'))
    assert check()[0] == 3
    assert "edited or damaged" in check()[1]
    sealed(proof, protocol=99)
    assert check() == (11, "p.json is a proof by the protocol of a newer KernelBand, so this one can't judge by it: update.")
    proof.write_text(text)
    home.file.write_text(FASTER.replace("2.0 * tl.load", "2.5 * tl.load"))
    assert check() == (10, "Not confirmed: scale.py says neither what it said before the proof's edit nor what it says after it.")
    home.file.unlink()
    assert check()[0] == 3
    assert "There is no file scale.py" in check()[1]
    home.file.write_text(SCALE_WITH_BENCH)
    sealed(proof, world=json.loads(text)["world"] | {"triton": "2.0.0"})
    other = home.run("check", "p.json", "--db", str(home.db), "--python", str(python))
    assert (other.code, started.exists(), home.db.exists()) == (11, True, False), "a worker says which Triton it has, and no run begins"
    assert "triton 2.0.0" in other.sentence

"""``check``, ``--proof`` and ``--fail-on`` on a laboratory that measures: exit codes, and what has run when nothing should."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field
from click.testing import CliRunner, Result

from kernelband.cli import app
from kernelband.cli.failing import FAIL_ON, FAILED, standing
from kernelband.cli.failure import run_and_exit
from kernelband.cli.proving import write_proof
from kernelband.explain.prooffile import read_proof, to_text
from kernelband.history import Store, runs, trials
from kernelband.history.outcome import Outcome, outcome_in
from kernelband.search.worker_lab import WorkerLab
from tests.unit.search.fake_lab import GPU, TEXT, FakeExecutor, FakeLab
from tests.unit.search.test_given import World, edited
from tests.unit.search.world import World as Search

FASTER, SLOWER = edited(256), edited(1 << 14)


@define
class Machine:
    """Commands in a folder whose worker is a fake. ``environment``: what differs of it from the usual one."""

    world: World
    environment: dict[str, Any] = field(factory=dict[str, Any])
    measured: bool = True
    slow_s: float = 0.0  # to record the cases
    labs: list[FakeLab] = field(factory=list[FakeLab])

    def start(self, workspace: Any, **_: Any) -> FakeLab:
        lab = _Slow(workspace, self.measured)
        lab.seconds = self.slow_s
        lab.environment |= {"gpus": [GPU] if self.measured else [], **self.environment}
        self.labs.append(lab)
        return lab

    def run(self, *words: str) -> Result:
        """In the same process, to the exit code."""

        def command(arguments: list[str]) -> None:
            run_and_exit(app, arguments)

        runner = CliRunner()
        with runner.isolation() as (out, err, _):
            code = 0
            try:
                command([*words, "--db", str(self.world.db)])
            except SystemExit as end:
                code = int(end.code or 0)
            return Result(runner, out.getvalue(), err.getvalue(), b"", None, code, None)

    @property
    def ran(self) -> int:
        """How many operations a worker was asked for."""
        return sum(len(lab.calls) for lab in self.labs)


class _Slow(FakeLab):
    seconds = 0.0

    def measuring(self) -> FakeExecutor:
        time.sleep(self.seconds)
        return super().measuring()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(World(tmp_path))
    monkeypatch.setattr(WorkerLab, "start", made.start)
    monkeypatch.chdir(tmp_path)
    made.world.file.write_text(FASTER)
    yield made
    assert all(lab.closed.is_set() for lab in made.labs)


def proven(machine: Machine, *more: str) -> str:
    done = machine.run("verify", "k.py", "--proof", "p.json", *more)
    assert (done.exit_code, "p.json" in done.stderr) == (0, True), done.stderr
    machine.labs.clear()
    return "p.json"


def test_a_proof_of_an_edit_is_confirmed_on_either_text(machine: Machine) -> None:
    proof = proven(machine)
    for text in (FASTER, TEXT):
        machine.world.file.write_text(text)
        done = machine.run("check", proof)
        assert done.exit_code == 0, done.output
        assert re.search(
            r"^Confirmed: verified again, \d\.\d\d× \(.*\) here, and \d\.\d\d× \(.*\) in the proof\.$", done.stdout, re.MULTILINE
        )
    assert machine.ran > 0


def test_a_proof_of_a_search(machine: Machine, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("searched")
    searched = Search(folder)
    ended = searched.run(searched.options(trials=12))
    monkeypatch.chdir(folder)
    write_proof(searched.db, ended, "p.json")
    proof = read_proof("p.json")
    with searched.store() as store:
        final = next(f for f in trials.finals(store, ended.run) if f.variant == ended.best)
        assert proof.figures is not None
        assert (proof.figures.finalists, proof.figures.score.value) == (len(trials.finals(store, ended.run)), final.score)
    assert proof.figures.finalists > 1
    again = evolve(proof, world=evolve(proof.world, gpu=GPU["name"]))  # the laboratory of a search knows no GPU's name
    Path("p.json").write_text(to_text(again))
    assert machine.run("check", "p.json").exit_code == 0
    with Store.read(machine.world.db) as store:
        run = runs.find(store, "last").id
        assert trials.variant(store, run, 1).numerics == proof.numerics == "exact", "as strictly as before"


def test_its_last_line_says_it_to_programs(machine: Machine) -> None:
    done = machine.run("check", proven(machine), "--json")
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["event"], last["outcome"], last["exit_code"]) == ("proof_checked", "confirmed", 0)


def test_one_changed_line_runs_nothing(machine: Machine) -> None:
    proof = proven(machine)
    machine.world.file.write_text(FASTER.replace("mask=i < n)", "mask=i <= n)"))
    done = machine.run("check", proof)
    assert (done.exit_code, machine.labs) == (10, [])
    assert done.stdout.startswith("Not confirmed: k.py ")


def test_it_isnt_faster_any_more(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = proven(machine)
    monkeypatch.setattr(FakeExecutor, "us", lambda *_: 100.0)
    done = machine.run("check", proof)
    assert done.exit_code == 10
    assert "it isn't surely faster: 1.00×" in done.stdout


@pytest.mark.parametrize("environment", [{"triton": "3.5.0"}, {"torch": "2.12"}, {"ptxas": "13"}, {"settings": {"TRITON_X": "1"}}])
def test_another_world_runs_nothing(machine: Machine, environment: dict[str, Any]) -> None:
    proof = proven(machine)
    machine.environment = environment
    done = machine.run("check", proof)
    assert (done.exit_code, machine.ran) == (11, 0)
    assert done.stderr.startswith("The proof can't be compared: it was made with")


def test_no_gpu_or_another_one(machine: Machine) -> None:
    proof = proven(machine)
    assert machine.run("check", proof, "--gpu", "a100").exit_code == 11
    assert machine.run("check", proof, "--gpu", "a1000").exit_code == 6
    assert machine.labs == []
    machine.measured = False
    done = machine.run("check", proof)
    assert (done.exit_code, machine.ran) == (11, 0)
    assert "no GPU is available" in done.stderr


def test_it_takes_too_long(machine: Machine) -> None:
    proof = proven(machine)
    machine.slow_s = 250.0
    start = time.monotonic()
    done = machine.run("check", proof, "--seconds", "0.3")
    assert (done.exit_code, time.monotonic() - start < 100.0) == (11, True)
    assert "more than 0.3 s" in done.stderr
    assert machine.run("check", proof, "--seconds", "0").exit_code == 2


def test_nothing_better_no_proof(machine: Machine) -> None:
    machine.world.file.write_text(SLOWER)
    Path("p.json").write_text("mine")
    done = machine.run("verify", "k.py", "--proof", "p.json")
    assert (done.exit_code, Path("p.json").read_text()) == (0, "mine")
    assert "No proof is written to p.json" in done.stderr


def test_a_place_that_cant_be_written_is_said_first(machine: Machine) -> None:
    for words in (("verify", "k.py"), ("optimize", "k.py")):
        assert machine.run(*words, "--proof", "no/such/p.json").exit_code == 2
        assert machine.run(*words, "--proof", ".").exit_code == 2
    assert machine.labs == []


def test_a_proof_has_the_rights_of_any_file(machine: Machine) -> None:
    Path("other").write_text("")
    assert Path(proven(machine)).stat().st_mode == Path("other").stat().st_mode
    assert not list(Path().glob(".kernelband-*"))


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (FASTER, (0, 0, 0)),
        (edited(16, "# aside\n").replace("return y", "z = y\n    return z"), (0, 0, FAILED)),
        (SLOWER, (0, FAILED, FAILED)),
        (edited(256, "# MAKE wrong\n"), (FAILED, FAILED, FAILED)),
        (edited(256, "# MAKE compile_error\n"), (FAILED, FAILED, FAILED)),
        (edited(256, "# MAKE crashed\n"), (FAILED, FAILED, FAILED)),
    ],
    ids=["faster", "as fast", "slower", "wrong", "doesn't compile", "crashes"],
)
def test_fail_on(machine: Machine, text: str, codes: tuple[int, ...]) -> None:
    machine.world.file.write_text(text)
    assert tuple(machine.run("verify", "k.py", "--fail-on", word).exit_code for word in FAIL_ON) == codes
    assert machine.run("verify", "k.py").exit_code == 0


def test_times_cant_be_known_without_a_gpu(machine: Machine) -> None:
    machine.measured = False
    for word in ("slower", "not-faster"):
        assert (machine.run("verify", "k.py", "--fail-on", word).exit_code, machine.ran) == (6, 0)
    assert machine.run("verify", "k.py", "--fail-on", "wrong").exit_code == 0


GOOD: dict[str, Any] = {"fault": "none", "integrity": "ok", "correctness": "passed", "performance": "faster"}


@pytest.mark.parametrize(
    ("more", "verified", "word"),
    [
        ({}, True, None),
        ({}, False, "not-faster"),  # not exercised, say
        ({"performance": "inconclusive"}, False, "not-faster"),
        ({"performance": "equal", "correctness": "untested"}, False, "not-faster"),
        ({"performance": "slower"}, False, "slower"),
        ({"performance": "slower", "correctness": "nondeterministic"}, False, "wrong"),
        ({"correctness": "untested"}, False, "wrong"),
        ({"integrity": "rejected"}, False, "wrong"),
        ({"fault": "timeout"}, False, "wrong"),
    ],
)
def test_where_an_edit_stands(more: Mapping[str, Any], verified: bool, word: str | None) -> None:
    assert standing(Outcome.VERIFIED if verified else outcome_in({**GOOD, **more})) == word

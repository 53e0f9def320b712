"""What a proof keeps of a run, and which files it is about."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.explain.kept import read
from kernelband.explain.prooffile import proof_of, read_proof, to_text
from kernelband.explain.proofshape import Proof, StressLine
from kernelband.explain.prove import ground, prove
from kernelband.history import Store, runs, this_process
from kernelband.history.records import LEFT_OUT, CaseRow
from kernelband.judge.protocol import PROTOCOL
from kernelband.search.given_edit import given_edit
from kernelband.source import between
from kernelband.source.model import text_hash
from tests.unit.explain.proof.conftest import body_of, edited, proof_at, sealed
from tests.unit.search import test_given as given_edits
from tests.unit.search.fake_lab import TEXT


def test_what_is_written_is_read(proof: Proof, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(to_text(proof))
    assert read_proof(str(tmp_path / "p.json")) == proof
    assert proof_of(sealed(body_of(proof)), "p") == proof


def test_a_measured_run(measured: Proof) -> None:
    assert (measured.protocol, measured.mode, measured.path, measured.kernel) == (PROTOCOL, "measured", "k.py", "k")
    assert (measured.correctness, measured.performance, measured.good) == ("passed", "faster", True)
    (file,) = measured.files
    assert (file.before, file.after) == (text_hash(TEXT), text_hash(edited(256)))
    assert [c.role for c in measured.cases] == ["time"]
    assert {p.stage for p in measured.pairs} == {"final", "baseline"}
    counts = {(p.process, p.quantity): 0 for p in measured.pairs}
    for pair in measured.pairs:
        counts[pair.process, pair.quantity] += pair.stage == "final"
    assert set(counts.values()) == {6}
    assert len(counts) == 10
    (case,) = measured.cases
    assert measured.stress == (
        StressLine(case.hash, "large values", used=True, why=None),
        StressLine(case.hash, "no bias", used=False, why="raises in k.py"),
    )


def test_a_predicted_run_has_no_figure(predicted: Proof) -> None:
    body = body_of(predicted)
    assert (body["figures"], body["pairs"], body["mode"], body["correctness"]) == (None, [], "predicted", "interpreted")


def test_nothing_says_whose_machine_it_was(worlds: dict[bool, tuple[given_edits.World, Proof]]) -> None:
    for world, proof in worlds.values():
        text = to_text(proof)
        assert str(world.folder) not in text
        assert not any(name in text for name in (this_process().host, str(Path.home())) if len(name) > 3)


def test_a_case_is_known_wherever_its_folder_lies(worlds: dict[bool, tuple[given_edits.World, Proof]]) -> None:
    world, proof = worlds[True]
    with Store.read(world.db) as store:
        kept = read(store, runs.find(store, "last"))
    (row,) = kept.cases
    function = {**row.facts["function"], "path": "/elsewhere/k.py"}

    def hashes(*rows: CaseRow) -> list[str]:
        return [c.hash for c in prove(evolve(kept, cases=rows, finals={}, measurements=()), 1).cases]

    moved = evolve(row, id="d" * 8, facts={**row.facts, "id": "d" * 8, "function": function})
    other = evolve(row, id="e" * 8, facts={**row.facts, "arguments": "x: float32[101]"})
    assert hashes(moved) == [proof.cases[0].hash]
    assert len({*hashes(row, moved, other), proof.cases[0].hash}) == 3, "alike, but two cases"
    assert hashes(row, evolve(other, role=LEFT_OUT)) == hashes(row), "what the run did without is not proven"


@pytest.mark.parametrize("allowed", [("exact",), ("exact", "reassociates"), ("exact", "reassociates", "lowers_precision")])
def test_the_numbers_may_differ_as_far_as_is_allowed(tmp_path: Path, allowed: Any) -> None:
    world = given_edits.World(tmp_path)
    world.file.write_text(edited(256))
    world.judge(edited(256), options=evolve(given_edit(world.options(), None), allowed=allowed))
    assert proof_at(world.db).numerics == allowed[-1]


# ---------------------------------------------------------------- its files


def test_from_either_text(measured: Proof, tmp_path: Path) -> None:
    found: list[tuple[dict[str, str], dict[str, str]]] = []
    for text in (TEXT, edited(256)):
        (tmp_path / "k.py").write_text(text)
        there = ground(measured, str(tmp_path))
        found.append((there.before, there.after))
    path = str(tmp_path / "k.py")
    assert found == [({path: TEXT}, {path: edited(256)})] * 2


@pytest.mark.parametrize("where", ["sub/deeper", "."])
def test_from_a_folder_below(measured: Proof, tmp_path: Path, where: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / where).mkdir(parents=True, exist_ok=True)
    (tmp_path / "k.py").write_text(TEXT)
    assert ground(measured, str(tmp_path / where)).before == {str(tmp_path / "k.py"): TEXT}


def test_one_changed_line(measured: Proof, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(edited(256).replace("tl.load(x + i, mask=i < n)", "tl.load(x + i, mask=i <= n)"))
    assert ground(measured, str(tmp_path)).changed == ("k.py",)


def test_edits_that_make_another_text(measured: Proof, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(TEXT)
    (file,) = measured.files
    other = evolve(file.edits[0], new="4096")
    with pytest.raises(SourceError, match="don't produce the text"):
        ground(evolve(measured, files=(evolve(file, edits=(other, *file.edits[1:])),)), str(tmp_path))
    with pytest.raises(SourceError, match=r"no file k\.py"):
        ground(measured, str(tmp_path.parent))


TEXTS = st.lists(st.sampled_from(["a = 1", "b = 'é'", "", "  c", "d\r"]), max_size=6).map("\n".join)


@given(TEXTS, TEXTS)
@settings(max_examples=60, deadline=None)
def test_edits_go_both_ways(worlds: dict[bool, tuple[given_edits.World, Proof]], old: str, new: str) -> None:
    if old == new:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        path = str(folder / "k.py")
        world, _ = worlds[True]
        with Store.read(world.db) as store:
            kept = read(store, runs.find(store, "last"))
        patch = [
            {"path": path, "base": f.base, "edits": [[e.span.start, e.span.end, e.new] for e in f.edits]}
            for f in between({path: old}, {path: new}).files
        ]
        moved = evolve(
            kept,
            run=evolve(kept.run, path=path),
            base={path: old},
            variants={1: evolve(kept.variants[1], patch=patch)},
        )
        proof = prove(moved, 1)
        for text in (old, new):
            Path(path).write_bytes(text.encode())
            there = ground(proof, name)
            assert (there.before, there.after) == ({path: old}, {path: new})

"""What confirms a proof."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.explain.confirm import confirm, differs
from kernelband.explain.proofshape import Proof, World
from kernelband.hardware import find_device
from kernelband.judge.result import Ratio
from tests.unit.explain.proof.conftest import edited, proof_at
from tests.unit.search import test_given as given_edits

Change = Callable[[Proof], Proof]


def scored(value: float, low: float, high: float, **more: Any) -> Change:
    def change(proof: Proof) -> Proof:
        assert proof.figures is not None
        return evolve(proof, figures=evolve(proof.figures, score=Ratio(value, low, high)), **more)

    return change


def test_judged_again_it_is_confirmed(worlds: dict[bool, tuple[given_edits.World, Proof]], tmp_path: Path) -> None:
    for measured, (_, proof) in worlds.items():
        again = given_edits.World(tmp_path / str(measured)) if (tmp_path / str(measured)).mkdir() is None else None
        assert again is not None
        again.judge(edited(256), measured=measured)
        now = proof_at(again.db)
        assert [c.hash for c in now.cases] == [c.hash for c in proof.cases], "the folder is another one"
        assert confirm(proof, now if measured else evolve(now, tier=proof.tier)).outcome == "confirmed"


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6), "confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.65, 1.59, 1.7), "confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.35, 1.3, 1.41), "confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.35, 1.3, 1.39), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.65, 1.61, 1.7), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, performance="inconclusive"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, correctness="wrong"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, correctness="nondeterministic"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, fault="crashed"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, integrity="rejected"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, not_exercised=("f",)), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, cases=()), "not confirmed"),
        (scored(1.5, 1.4, 1.6), lambda p: evolve(p, figures=None), "not confirmed"),
    ],
)
def test_measured_again(measured: Proof, first: Change, second: Change, outcome: str) -> None:
    assert confirm(first(measured), second(measured)).outcome == outcome


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"integrity": "rejected"}, "can't be trusted"),
        ({"correctness": "wrong"}, "something else than the original"),
        ({"performance": "equal"}, "changes nothing"),
        ({"performance": "slower"}, "isn't surely faster"),
        ({"not_exercised": ("f", "g")}, "no case reaches f, g"),
        ({"figures": None}, "nothing of it was measured"),
    ],
)
def test_the_answer_says_what_is_the_matter(measured: Proof, change: dict[str, Any], why: str) -> None:
    assert why in confirm(measured, evolve(measured, **change)).sentence


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "confirmed"),
        ({"fact": "another one"}, "confirmed"),
        ({"tier": "unclear"}, "not confirmed"),
        ({"code": ("0" * 16,)}, "not confirmed"),
        ({"correctness": "wrong"}, "not confirmed"),
        ({"fault": "compile_error"}, "not confirmed"),
        ({"performance": "equal"}, "not confirmed"),
    ],
)
def test_predicted_again(predicted: Proof, change: dict[str, Any], outcome: str) -> None:
    assert confirm(predicted, evolve(predicted, **change)).outcome == outcome


HERE: Any = {
    "triton": "3.6.0",
    "torch": "2.13",
    "ptxas": "12.8",
    "python": "3.12",
    "driver": "580",
    "settings": {"TRITON_X": "1", "TRITON_P": "/p"},
}
H200 = World("NVIDIA H200", "NVIDIA H200 SXM", "3.6.0", "2.13", "3.11", None, "575", "12.8", {"TRITON_X": "1"})


@pytest.mark.parametrize(
    ("world", "gpu", "here", "word"),
    [
        ({}, "NVIDIA H200", {}, ""),
        ({}, "", {}, "no GPU"),
        ({"gpu": "NVIDIA H100"}, "NVIDIA H200", {}, "NVIDIA H100"),
        ({"device": "NVIDIA H100 SXM"}, "NVIDIA H200", {}, "NVIDIA H200"),
        ({}, "NVIDIA H200", {"triton": "3.5.0"}, "triton 3.6.0"),
        ({}, "NVIDIA H200", {"torch": "2.12"}, "torch 2.12"),
        ({}, "NVIDIA H200", {"ptxas": None}, "ptxas"),
        ({}, "NVIDIA H200", {"settings": {}}, "TRITON_X"),
        ({}, "NVIDIA H200", {"settings": {"TRITON_X": "1", "TRITON_P": "/q"}}, ""),
    ],
)
def test_what_cant_be_compared(measured: Proof, world: dict[str, Any], gpu: str, here: dict[str, Any], word: str) -> None:
    said = differs(evolve(measured, world=evolve(H200, **world)), gpu, find_device("h200"), {**HERE, **here})
    assert bool(said) == bool(word)
    assert word in said


def test_a_prediction_where_a_gpu_is(predicted: Proof) -> None:
    proof = evolve(predicted, world=evolve(H200, gpu=""))
    assert differs(proof, "", find_device("h200"), HERE) == ""
    assert "can measure" in differs(proof, "NVIDIA H200", find_device("h200"), HERE)

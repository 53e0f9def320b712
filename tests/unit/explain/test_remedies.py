"""Moves against a hint: which ones, in which order. What compiling them says is in tests/e2e (test_cli_inspect, lsp/test_diagnostics)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelband.explain import remedies
from kernelband.explain.hints import CODES, MOVES
from kernelband.explain.remedies import proposals
from kernelband.hardware import find_device
from kernelband.source import Workspace, find_program
from kernelband.source.model import Patch, Program
from kernelband.strategies import STRATEGIES, Facts, Numerics, Proposal, Strategy
from tests.unit.lsp.test_findings import TEXT

FACTS = Facts(find_device("h100"), ())


class Counts:
    """A move with two proposals."""

    def __init__(self, name: str, numerics: Numerics = "exact") -> None:
        self.name, self.numerics = name, numerics

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        for n in range(2):
            yield Proposal("tiling", self.name, {"n": n}, Patch(), self.numerics, f"{self.name} {n}", "")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    path = tmp_path / "k.py"
    path.write_text(TEXT)
    return find_program(Workspace.for_file(str(path)), str(path), "add")


def test_each_move_of_a_hint_has_its_turn(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = (Counts("tiles"), Counts("stranger"), Counts("register_cap"), Counts("more_programs"))
    monkeypatch.setattr(remedies, "STRATEGIES", (Strategy(STRATEGIES[0].card, moves),))
    assert [p.what for p in proposals("spills", program, FACTS)] == ["tiles 0", "register_cap 0", "tiles 1", "register_cap 1"]
    assert [p.what for p in proposals("too-few-programs", program, FACTS)][:2] == ["tiles 0", "more_programs 0"]


def test_numerics_that_are_not_allowed_are_left_out(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = (Counts("tiles", "lowers_precision"), Counts("register_cap", "reassociates"))
    monkeypatch.setattr(remedies, "STRATEGIES", (Strategy(STRATEGIES[0].card, moves),))
    assert [p.what for p in proposals("spills", program, FACTS)] == ["register_cap 0", "register_cap 1"]


def test_moves_of_hints_are_moves(program: Program) -> None:
    known = {f"{s.card.name}.{m.name}" for s in STRATEGIES for m in s.moves}
    assert set().union(*MOVES.values()) <= known
    assert set(MOVES) == set(CODES)
    for code in CODES:
        assert all(f"{p.strategy}.{p.move}" in MOVES[code] for p in proposals(code, program, FACTS))
    assert list(proposals("out-of-bounds", program, FACTS)) == []

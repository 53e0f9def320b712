"""Moves against a hint: which ones, in which order. What compiling them says is in tests/e2e (test_cli_inspect, lsp/test_inspections)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import Factory, frozen

from kernelband.errors import WorkerError
from kernelband.explain import remedies
from kernelband.explain.hints import CODES, MOVES
from kernelband.explain.remedies import proposals
from kernelband.hardware import find_device
from kernelband.source import Workspace, between, find_program
from kernelband.source.model import Patch, Program
from kernelband.strategies import STRATEGIES, VECTORIZATION, Facts, Numerics, Proposal, Strategy
from tests.unit.explain.test_hints import row
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


@frozen
class FakeLab:
    """Keeps texts; an environment of Triton 3.6."""

    environment: dict[str, str] = Factory(lambda: {"triton": "3.6.0"})
    compilers: None = None

    def keep(self, texts: dict[str, str], paths: list[str]) -> dict[str, str]:
        return {"id": texts[paths[0]]}

    def specialise(self, files: Any, cases: Any, seconds: float | None = None) -> Any:
        raise AssertionError("only the fake inspection is asked")


def compiled(program: Program, monkeypatch: pytest.MonkeyPatch, say: Callable[[str], list[dict[str, Any]]]) -> list[str]:
    """What remedies a kernel has whose original has narrow accesses, by what compiling each of its variants says."""
    edits = {what: between(program.texts, {p: t + f"# {what}\n" for p, t in program.texts.items()}) for what in ("one", "two", "three")}

    class Three:
        name = "rows_per_program"

        def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
            yield from (Proposal("vectorization", self.name, {"n": w}, p, "exact", w, "") for w, p in edits.items())

    def fake(*_: Any, variant: str, deadline_s: float, **__: Any) -> list[str]:
        assert 0 < deadline_s <= remedies.SECONDS
        return [variant.rpartition("# ")[2].strip()]

    def rows(seen: Sequence[Any]) -> list[dict[str, Any]]:
        return say(seen[0]) if seen and isinstance(seen[0], str) else [row(kernel="add")]

    monkeypatch.setattr(remedies, "inspect", fake)
    monkeypatch.setattr(remedies, "as_json", rows)
    monkeypatch.setattr(remedies, "STRATEGIES", (Strategy(VECTORIZATION.card, (Three(),)),))
    once = SimpleNamespace(program=program, lab=FakeLab(), captured=SimpleNamespace(cases=()))
    seen = [SimpleNamespace(device=find_device("h100"), kernel="add", seen=None)]
    found = list(remedies.remedies(once, seen))  # type: ignore[arg-type]
    assert {r.code for r in found} <= {"narrow-access"}
    return [r.proposal.what for r in found]


def said(**more: Any) -> list[dict[str, Any]]:
    """Of a variant without warnings that fills the GPU."""
    facts = {**row()["facts"], "warnings": [], **more}
    return [row(kernel="add", grid=[1000, 1, 1], facts=facts)]


def test_what_compiles_without_the_hint_is_offered_two_at_most(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(program, monkeypatch, lambda _: said()) == ["one", "two"]
    narrow = row()["facts"]["warnings"]
    assert compiled(program, monkeypatch, lambda what: said(warnings=narrow if what == "one" else [])) == ["two", "three"]


def test_what_does_not_compile_or_may_not_be_launched_is_not_offered(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(program, monkeypatch, lambda what: said(unusable="too much shared memory" if what == "two" else None)) == [
        "one",
        "three",
    ]
    failed = row(kernel="add", facts=None, error="it doesn't compile")
    assert compiled(program, monkeypatch, lambda what: [failed, *said()] if what == "one" else said()) == ["two", "three"]

    def refuses(what: str) -> list[dict[str, Any]]:
        raise WorkerError("It took longer than 2 s.")

    assert compiled(program, monkeypatch, refuses) == []


def test_moves_of_hints_are_moves(program: Program) -> None:
    for code in CODES:
        assert all(f"{p.strategy}.{p.move}" in MOVES[code] for p in proposals(code, program, FACTS))
    assert list(proposals("out-of-bounds", program, FACTS)) == []

"""What moves.py asks of a captured kernel, and what its table counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import moves
from reach import Target

from tests.unit.strategies.samples import launch, program_of

ADD = """import torch, triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


def run(x):
    y, n = torch.empty_like(x), x.numel()
    add[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=64)
    return y
"""


def case(text: str, folder: Path) -> tuple[Target, dict[str, Any]]:
    program = program_of(text, folder, "add.py")
    seen = launch(program, [1 << 14, 1, 1], {"BLOCK": 64}, {"n": 1 << 20}, {"x_ptr": ([1 << 20], "float32")})
    return Target(folder, folder / "add.py", "add"), {"id": "a", "role": "time", "launches": [seen], "tensors": [], "neighbour_of": None}


def test_a_block_that_is_a_number_can_be_another_and_one_that_is_not_is_named(tmp_path: Path) -> None:
    target, seen = case(ADD.replace("BLOCK,))", "64,))").replace("cdiv(n, BLOCK)", "cdiv(n, 64)"), tmp_path)
    found = moves.offered(target, [seen], "h200")
    assert found["block"]
    assert not found["structure"]
    assert found["moves"]["tiles"] > 1
    fixed, seen = case(
        ADD.replace("(triton.cdiv(n, BLOCK),)", "lambda m: (triton.cdiv(n, m['BLOCK']),)").replace("BLOCK=64", "**SIZES"), tmp_path
    )
    found = moves.offered(fixed, [seen], "h200")
    assert not found["block"]
    assert found["notes"] == ["BLOCK comes from **SIZES: not changed."]


def test_without_cases_nothing_is_offered(tmp_path: Path) -> None:
    target, _ = case(ADD, tmp_path)
    assert moves.offered(target, [], "h200") == {"cases": 0, "moves": {}, "notes": [], "block": False, "structure": False}


def test_the_table_counts_captured_kernels_by_what_they_are_offered() -> None:
    def row(kernel: str, moved: dict[str, int], *, block: bool = False, structure: bool = False, refused: str = "") -> dict[str, Any]:
        found = {"moves": moved, "notes": [], "block": block, "structure": structure, "cases": 0 if refused else 2}
        return {"key": f"p/{kernel}", "project": "p", "refused": refused, "seconds": 1.0, **found}

    rows = [row("a", {"tiles": 3}, block=True), row("b", {"split_k": 1}, structure=True), row("c", {"exp2": 1}), row("d", {})]
    told = moves.summary([*rows, row("e", {}, refused="No test or bench function was found.")], moves.TITLES, moves.figures)
    assert "| p | 5 | 4 | 1 | 1 | 2 | 1 |" in told
    assert told[-1] == "1 x No test or bench function was found. (first: p/e)"
    assert moves.line(rows[0]) == "p/a: 3 tiles (1 s)"


def test_what_is_captured_is_asked_once(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    target, seen = case(ADD, tmp_path)
    asked: list[str] = []

    def captured(of: Target, options: Any, lane: Any) -> dict[str, Any]:
        asked.append(of.key)
        return {"found": [seen], "refused": "", "seconds": 1.0}

    monkeypatch.setattr(moves, "captured", captured)
    monkeypatch.setattr(sys, "argv", ["moves.py", str(tmp_path), "--results", str(tmp_path / "r.jsonl"), "--skip", "*/other.py::*"])
    assert moves.main() == 0
    assert moves.main() == 0
    assert asked == [target.key]
    (kept,) = [json.loads(text) for text in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert kept["key"] == target.key
    assert "| 1 | 1 |" in capsys.readouterr().out

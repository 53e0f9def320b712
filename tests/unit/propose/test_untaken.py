"""An edit in a branch that no launch takes compiles to the code that is there already: it isn't proposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelband.hardware import find_device
from kernelband.propose import Rewriter
from kernelband.propose.untaken import is_inside, untaken
from kernelband.source import Workspace, find_program, make_patch
from kernelband.source.model import Edit, Program, Span
from kernelband.strategies import STRATEGIES, Facts
from tests.unit.search.fake_lab import CASE

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def total(x, y, n, BLOCK: tl.constexpr, WHOLE: tl.constexpr, KIND: tl.constexpr, FLAG):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    if {test}:
        whole = tl.load(x + pid * n + i, mask=i < n, other=0.0)
        tl.store(y + pid, tl.sum(whole))
    else:
        part = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, n, BLOCK):
            part += tl.load(x + pid * n + start + i, mask=start + i < n, other=0.0)
        tl.store(y + pid, tl.sum(part))


def totals(x, whole):
    y = torch.empty(len(x), device=x.device)
    total[(len(x),)](x, y, x.shape[1], BLOCK=1024, WHOLE=whole, KIND=3, FLAG=1)
    return y
"""


def program_of(text: str, folder: Path) -> Program:
    file = folder / "totals.py"
    file.write_text(text)
    return find_program(Workspace.for_file(str(file)), str(file), "total")


def dropped(program: Program, *constants: dict[str, Any]) -> list[str]:
    text = program.texts[program.kernel.place.path]
    return [text[s.start : s.end].split(" ")[0] for s in untaken(program, constants)]


@pytest.mark.parametrize(
    ("test", "whole", "expected"),
    [
        ("WHOLE", True, ["part"]),
        ("WHOLE", False, ["whole"]),
        ("not WHOLE", True, ["whole"]),
        ("WHOLE and n > 3", False, ["whole"]),
        ("WHOLE and n > 3", True, []),
        ("WHOLE or n > 3", True, ["part"]),
        ("WHOLE or n > 3", False, []),
        ("WHOLE or KIND == 3", False, ["part"]),
        ("WHOLE and KIND == 3", True, ["part"]),
        ("KIND != 3", True, ["whole"]),
        ("KIND < BLOCK", True, ["part"]),
        ("KIND > 2.5", True, ["part"]),
        ("1 < KIND < 2", True, []),
        ("n == 3", True, []),
        ("FLAG", True, []),
    ],
)
def test_what_the_constexprs_decide(tmp_path: Path, test: str, whole: bool, expected: list[str]) -> None:
    program = program_of(KERNEL.format(test=test), tmp_path)
    assert dropped(program, {"BLOCK": 1024, "KIND": 3, "WHOLE": whole, "FLAG": False, "n": 2}) == expected


def test_what_isnt_known_is_kept(tmp_path: Path) -> None:
    program = program_of(KERNEL.format(test="WHOLE"), tmp_path)
    one, other = {"WHOLE": True}, {"WHOLE": False}
    assert dropped(program, one, one) == ["part"]
    assert dropped(program, one, other) == []
    assert dropped(program) == []
    assert dropped(program, {"WHOLE": "yes"}) == []
    assert dropped(program, {"KIND": 3}) == []
    again = program_of(KERNEL.format(test="WHOLE").replace("    pid =", "    WHOLE = n > 3\n    pid ="), tmp_path)
    assert dropped(again, one) == []


def test_the_rewriter_leaves_it_alone(tmp_path: Path) -> None:
    program = program_of(KERNEL.format(test="WHOLE"), tmp_path)
    text = program.texts[program.kernel.place.path]
    case: Any = CASE

    def edited(*constants: dict[str, Any]) -> set[int]:
        facts = Facts(find_device("h100"), (case,), constants=constants)
        found = [p for s in STRATEGIES for p in Rewriter().write(program, s.card.name, facts, set(), 100).proposals]
        return {e.span.start for p in found for f in p.patch.files for e in f.edits}

    branch = range(text.index("part = "), text.index("def totals"))
    everywhere = edited()
    assert everywhere & {*branch}
    assert edited({"WHOLE": False}) == everywhere - {*range(text.index("whole = "), text.index("else:"))}
    assert edited({"WHOLE": True}) == everywhere - {*branch}
    assert everywhere - {*branch}


def test_an_edit_that_changes_something_else_too_is_kept(tmp_path: Path) -> None:
    program = program_of(KERNEL.format(test="WHOLE"), tmp_path)
    path = program.kernel.place.path
    spans = untaken(program, [{"WHOLE": True}])
    (span,) = spans

    def inside(*starts: int) -> bool:
        return is_inside(make_patch(program.texts, {path: [Edit(Span(at, at), " ") for at in starts]}), path, spans)

    assert inside(span.start)
    assert inside(span.start + 1, span.end)
    assert not inside(span.start - 20)
    assert not inside(span.start + 1, span.end + 40)
    assert not is_inside(make_patch(program.texts, {path: [Edit(Span(span.start + 1, span.start + 1), " ")]}), "another.py", spans)
    assert not is_inside(make_patch(program.texts, {path: [Edit(Span(5, 5), " ")]}), path, ())

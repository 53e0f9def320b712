"""What a model is told of the gate is what the gate does: an answer that keeps to it isn't wasted, one that doesn't was warned."""

from __future__ import annotations

import re

import pytest

from kernelband.propose.model.edits import to_patch
from kernelband.propose.model.prompt import RULES
from kernelband.propose.model.rules import Refused
from kernelband.source.model import Program
from tests.unit.propose.gate_world import KERNEL, PLAIN, program_of, with_lines

MOST = 1500  # characters of the rules, sent with every question
SCRATCH = KERNEL.replace("x, y, n", "x, y, s, n").replace("    tl.store(y", "    tl.atomic_add(s + tl.program_id(0), 1)\n    tl.store(y")
LAUNCH = "k[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return program_of(PLAIN, tmp_path_factory.mktemp("prompt"))


def refused(program: Program, **blocks: str) -> str:
    """The rule that refuses these blocks; nothing where they pass."""
    try:
        assert to_patch(program, blocks).files
    except Refused as no:
        return no.kind
    return ""


def said(words: str) -> None:
    assert words in " ".join(RULES.split())


def host(lines: str = "", *, instead: tuple[str, str] = ("", "")) -> str:
    return with_lines(PLAIN, "copy", after=lines, instead=instead)


def test_the_rules_are_short() -> None:
    assert len(RULES) <= MOST


def test_conditions_that_are_shown_are_judged_as_they_are_shown(program: Program) -> None:
    shown = re.search(r"\((`[^)]*`); not (`[^)]*`)\)", " ".join(RULES.split()))
    assert shown is not None
    good, bad = (re.findall("`([^`]*)`", part) for part in shown.groups())
    assert good
    assert bad
    for condition in [*good, *bad]:
        text = host(f"m = 8 if {condition} else 4\nk[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64, num_warps=m)")
        assert refused(program, copy=text) == ("sizes" if condition in bad else ""), condition


def test_scratch(program: Program) -> None:
    said("Scratch memory comes from torch.zeros, not torch.empty")
    for make, kind in (("zeros", ""), ("empty", "memory")):
        scratch = f"s = torch.{make}(n, dtype=torch.int32, device=x.device)\n    k[(triton.cdiv(n, 64),)](x, y, s, n, BLOCK=64)"
        assert refused(program, k=SCRATCH, copy=host(instead=(LAUNCH, scratch))) == kind


def test_pointers(program: Program) -> None:
    said("Pointer parameters of a kernel keep their names and roles: what was only loaded isn't stored to")
    store = "    tl.store(y + i"
    assert refused(program, k=KERNEL.replace(store, f"    tl.store(x + i, 0.0, mask=i < n)\n{store}")) == "state"
    renamed = KERNEL.replace("(x, y,", "(x, z,").replace(store, f"    a = tl.load(z + i, mask=i < n)\n{store.replace('y', 'z')}")
    assert refused(program, k=renamed) == "memory"


@pytest.mark.parametrize("kept", ["x.kept = y", "copy.kept = y", "k.kept = y"])
def test_state(program: Program, kept: str) -> None:
    said("No state outlives a call: nothing is kept in attributes, defaults, or tensors and dictionaries of the file")
    assert refused(program, copy=host(kept)) == "state"

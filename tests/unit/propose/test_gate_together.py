"""What no function of an answer does alone: a kernel stores to what a launch, rewritten or not, gives it from outside the call."""

from __future__ import annotations

import pytest

from kernelband.propose.model.edits import to_patch
from kernelband.propose.model.rules import Refused
from kernelband.source.model import Program
from tests.unit.propose.gate_world import HEAD, program_of

TEXT = f"""{HEAD}
_TABLE = torch.zeros(16)


@triton.jit
def look(t, at):
    return tl.load(t + at)


@triton.jit
def k(x, y, t, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + look(t, 0), mask=i < n)


def copy(x, weight):
    n = x.numel()
    y = torch.empty_like(x)
    k[(triton.cdiv(n, 64),)](x, y, _TABLE, n, BLOCK=64)
    k[(triton.cdiv(n, 64),)](y, y, weight, n, BLOCK=64)
    return y
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return program_of(TEXT, tmp_path_factory.mktemp("together"))


def function(name: str, *changes: tuple[str, str]) -> str:
    text = TEXT[TEXT.index(f"def {name}(") :].partition("\n\n\n")[0] + "\n"
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text if name == "copy" else f"@triton.jit\n{text}"


def rule(program: Program, **blocks: str) -> str:
    try:
        assert to_patch(program, blocks).files
    except Refused as refused:
        return refused.kind
    return ""


def keeping(name: str) -> str:
    """The kernel with its table under another name, which it counts up in."""
    counting = f"    tl.store({name}, tl.load({name}) + 1)\n    tl.store(y + i"
    return function("k", ("y, t, n", f"y, {name}, n"), ("look(t, 0)", f"tl.load({name})"), ("    tl.store(y + i", counting))


LATER = (", BLOCK=64", ", BLOCK=128")
SPLITS = {
    "the launch stays": {"k": keeping("s")},
    "both are written": {"k": keeping("s"), "copy": function("copy", LATER)},
    "by keyword": {"k": keeping("S"), "copy": function("copy", ("x, y, _TABLE, n,", "x, y, S=_TABLE, n=n,"))},
    "through a name": {"k": keeping("s"), "copy": function("copy", ("k[(triton.cdiv(n, 64),)](x", "run = k\n    run[(1,)](x"))},
    "starred": {"k": keeping("s"), "copy": function("copy", ("](x, y, _TABLE, n", "](*(x, y, _TABLE), n"))},
    "a view of it": {"k": keeping("s"), "copy": function("copy", ("_TABLE, n", "_TABLE.view(4, 4), n"))},
    "a helper stores": {"look": function("look", ("(t, at)", "(s, at)"), ("return tl.load(t + at)", "return tl.atomic_add(s + at, 1)"))},
    "an argument": {"k": keeping("s"), "copy": function("copy", ("x, y, _TABLE", "x, y, weight"))},
    "another place": {"k": function("k", ("x, y, t,", "x, a, b,"), ("y + i", "b + i"), ("look(t, 0)", "look(a, 0)"))},
}
HONEST = {
    "an output under another name": {"k": function("k", ("x, y, t", "x, out, t"), ("y + i", "out + i"))},
    "a constant more": {
        "k": function("k", ("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, WIDE: tl.constexpr")),
        "copy": function("copy", ("BLOCK=64", "BLOCK=64, WIDE=2")),
    },
    "the table under another name": {"k": function("k", ("y, t, n", "y, table, n"), ("look(t, 0)", "look(table, 0)"))},
    "scratch": {
        "k": function("k", ("y, t, n", "y, t, s, n"), ("    tl.store(y", "    tl.atomic_add(s, 1)\n    tl.store(y")),
        "copy": function(
            "copy", ("_TABLE, n", "_TABLE, s, n"), ("weight, n", "weight, s, n"), ("    y =", "    s = torch.zeros(1)\n    y =")
        ),
    },
    "starred": {"copy": function("copy", ("](x, y, _TABLE, n", "](*(x, y, _TABLE, n)"))},
    "both of it": {"k": function("k", ("i < n)", "i < n, other=0.0)")), "copy": function("copy", LATER)},
}


@pytest.mark.parametrize("name", SPLITS)
def test_what_is_split_over_functions(program: Program, name: str) -> None:
    assert rule(program, **SPLITS[name]) == "state"


@pytest.mark.parametrize("name", HONEST)
def test_what_fits_together(program: Program, name: str) -> None:
    assert rule(program, **HONEST[name]) == ""


def test_a_launch_that_stays_is_named(program: Program) -> None:
    with pytest.raises(Refused, match=r"^copy, as it is: .*_TABLE"):
        to_patch(program, SPLITS["the launch stays"])
    with pytest.raises(Refused, match=r"^copy, line 4: .*_TABLE"):
        to_patch(program, SPLITS["both are written"])

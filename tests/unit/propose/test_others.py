"""Kernels that the calls launch beside the one that is optimized: their moves are proposed too, as often as they have of the work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.hardware import find_device
from kernelband.propose import Rewriter
from kernelband.propose.others import in_turns, others
from kernelband.source import Workspace, find_others, find_program, form, program_in, transplant
from kernelband.source.model import Place, Program
from kernelband.strategies import Facts, Proposal
from kernelband.strategies import strategy as find_strategy

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


@triton.jit
def shifted(y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(y + at, mask=at < n) + 1.0, mask=at < n)


def both(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    shifted[(triton.cdiv(x.numel(), 512),)](y, z, x.numel(), BLOCK=512)
    return z
"""


def program_of(folder: Path, text: str = TEXT, kernel: str = "scaled") -> tuple[Program, tuple[Program, ...]]:
    file = folder / "both.py"
    file.write_text(text)
    workspace = Workspace.for_file(str(file))
    program = find_program(workspace, str(file), kernel)
    return program, find_others(workspace, program)


def launch(place: Place, block: int, size: int, *, target: bool) -> dict[str, Any]:
    tensors = {n: {"name": n, "shape": [size], "stride": [1], "dtype": "float32"} for n in ("x", "y")}
    constants: dict[str, Any] = {"BLOCK": block}
    return {
        "kernel": {"module": "both", "path": place.path, "qualname": place.qualname},
        "grid": [size // block, 1, 1],
        "num_warps": 4,
        "num_stages": 3,
        "num_ctas": 1,
        "constants": constants,
        "scalars": {"n": size},
        "tensors": tensors,
        "config": None,
        "target": target,
    }


def facts_of(program: Program, *, share: float | None = None, size: int = 1 << 20, other: int = 1 << 20, torch_too: float = 1.0) -> Facts:
    """``share``: of the kernel, as profiled; ``torch_too``: of both kernels."""
    path = program.kernel.place.path
    launches = [launch(Place(path, "scaled"), 256, size, target=True), launch(Place(path, "shifted"), 512, other, target=False)]
    case: Any = {"id": "a", "role": "time", "boundary": "host_call", "neighbour_of": None, "launches": launches}
    if share is not None:
        case["shares"] = {"scaled": share, "shifted": torch_too - share}
    return Facts(find_device("h100"), (case,))


def known(program: Program, beside: Sequence[Program], facts: Facts) -> Facts:
    return evolve(facts, others=others(beside, facts, {}, lambda kernel: ({"OF": kernel.place.name},)))


def kernels(proposals: Sequence[Proposal]) -> list[Any]:
    return [p.parameters.get("kernel") for p in proposals]


def test_moves_of_both_are_proposed_each_for_its_own_launch(tmp_path: Path) -> None:
    program, beside = program_of(tmp_path)
    facts = known(program, beside, facts_of(program))
    (other,) = facts.others
    assert (other.program.kernel.place.name, other.share, other.facts.constants) == ("shifted", 0.5, ({"OF": "shifted"},))
    assert [[x["target"] for x in c["launches"]] for c in other.facts.cases] == [[False, True]]
    found = Rewriter().write(program, "tiling", facts, set(), 10).proposals
    assert kernels(found) == [None, "shifted"] * 5
    for proposal in found:
        after = proposal.patch.apply(program.texts)[program.kernel.place.path]
        was = "shifted[(triton.cdiv(x.numel(), 512),)](y, z, x.numel(), BLOCK=512)"
        assert (was in after) is ("kernel" not in proposal.parameters)
        assert proposal.what.startswith("shifted: ") is ("kernel" in proposal.parameters)
    assert len({p.key for p in found}) == 10


@pytest.mark.parametrize(("share", "own"), [(0.75, 9), (0.5, 6), (0.25, 3), (0.0, 1)])
def test_they_come_as_often_as_they_have_of_the_time(tmp_path: Path, share: float, own: int) -> None:
    program, beside = program_of(tmp_path)
    found = Rewriter().write(program, "tiling", known(program, beside, facts_of(program, share=share)), set(), 12).proposals
    assert len(found) == 12
    assert kernels(found).count(None) == own


@pytest.mark.parametrize(
    ("share", "size", "other", "count"), [(0.95, 1, 1, 0), (0.5, 1 << 20, 16, 1), (None, 1 << 20, 1 << 10, 0), (None, 64, 1 << 20, 1)]
)
def test_what_has_hardly_any_of_it_is_left_alone(tmp_path: Path, share: float | None, size: int, other: int, count: int) -> None:
    program, beside = program_of(tmp_path)
    assert len(known(program, beside, facts_of(program, share=share, size=size, other=other)).others) == count


def test_what_torch_has_of_a_call_is_no_kernel_s(tmp_path: Path) -> None:
    program, beside = program_of(tmp_path)
    assert known(program, beside, facts_of(program, share=0.3, torch_too=0.35)).others == ()
    (other,) = known(program, beside, facts_of(program, share=0.3, torch_too=0.5)).others
    assert other.share == pytest.approx(0.2)


def test_where_only_the_launch_is_called_nothing_else_is_searched(tmp_path: Path) -> None:
    program, beside = program_of(tmp_path)
    facts = facts_of(program)
    cases: Any = tuple({**c, "boundary": "launch"} for c in facts.cases)
    assert known(program, beside, evolve(facts, cases=cases)).others == ()


def test_the_last_of_both_to_have_something_goes_on(tmp_path: Path) -> None:
    program, beside = program_of(tmp_path)
    facts = known(program, beside, facts_of(program, share=0.5))
    (other,) = facts.others
    every = len([*find_strategy("tiling").propose(program, facts)]) + len([*find_strategy("tiling").propose(other.program, other.facts)])
    assert len([*in_turns(program, "tiling", facts)]) == every
    assert Rewriter().write(program, "tiling", facts, set(), 1000).exhausted


def test_a_branch_that_the_other_doesn_t_take_is_left_alone(tmp_path: Path) -> None:
    """By the constexprs of its own launches, not of the one that is optimized."""
    text = TEXT.replace(
        "    tl.store(z + at, tl.load(y + at, mask=at < n) + 1.0, mask=at < n)\n",
        "    if BLOCK > 300:\n        tl.store(z + at, tl.load(y + at, mask=at < n) + 1.0, mask=at < n)\n"
        "    else:\n        tl.store(z + at, tl.load(y + at, mask=at < n) + tl.exp(1.0), mask=at < n)\n",
    )
    program, beside = program_of(tmp_path, text)
    facts = facts_of(program)

    def edited(*constants: dict[str, Any]) -> bool:
        of = evolve(facts, constants=({"BLOCK": 256},), others=others(beside, facts, {}, lambda _: constants))
        found = Rewriter().write(program, "fusion", of, set(), 100).proposals
        return any(p.parameters.get("kernel") == "shifted" for p in found)

    assert edited()
    assert edited({"BLOCK": 256})
    assert not edited({"BLOCK": 512})


SEVERAL = """

@triton.jit
def shifted(y, z, n, BLOCK: tl.constexpr):
    pass
"""


def test_one_that_is_launched_elsewhere_too_or_isn_t_alone_of_its_name_is_left_alone(tmp_path: Path) -> None:
    assert [p.kernel.place.name for p in program_of(tmp_path)[1]] == ["shifted"]
    assert program_of(tmp_path, TEXT + SEVERAL)[1] == ()
    assert program_of(tmp_path, TEXT + "\n\ndef only(y, z):\n    shifted[(1,)](y, z, 1, BLOCK=16)\n")[1] == ()
    assert program_of(tmp_path, TEXT + '\n\nTABLE = {"shifted": shifted}\n')[1] == ()
    (tmp_path / "more.py").write_text("from both import shifted\n\n\ndef f(y, z):\n    shifted[(1,)](y, z, 1, BLOCK=16)\n")
    assert program_of(tmp_path)[1] == ()


def test_one_with_a_helper_in_another_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("import triton\n\n\n@triton.jit\ndef one(x):\n    return x + 1.0\n")
    text = TEXT.replace("tl.load(y + at, mask=at < n) + 1.0", "one(tl.load(y + at, mask=at < n))")
    assert program_of(tmp_path, text.replace("import torch\n", "import torch\nfrom more import one\n"))[1] == ()


def test_each_has_the_facts_of_its_own_compilations(tmp_path: Path) -> None:
    program, beside = program_of(tmp_path)
    compiled: Any = {name: {"kernel": {"qualname": name}} for name in ("scaled", "shifted")}
    (other,) = others(beside, facts_of(program), compiled, lambda _: ())
    assert other.facts.compiled == (compiled["shifted"],)


def test_an_edit_of_the_other_is_brought_into_a_text_with_other_lines(tmp_path: Path) -> None:
    program, beside = program_of(tmp_path)
    facts = known(program, beside, facts_of(program))
    found = Rewriter().write(program, "access_layout", facts, set(), 50).proposals
    line = "    tl.store(z + at, tl.load(y + at, mask=at < n) + 1.0, mask=at < n)\n"
    path = program.kernel.place.path
    inside = [p for p in found if p.parameters.get("kernel") == "shifted" and line not in p.patch.apply(program.texts)[path]]
    assert inside
    now = {path: TEXT.replace(line, line.replace("(y + at, mask", "(y  +  at,  mask") + "    # done\n")}
    for proposal in inside:
        brought = transplant(proposal.patch, program.texts, now, lambda texts: program_in(texts, path, "scaled")).apply(now)[path]
        after = proposal.patch.apply(program.texts)
        assert form(program_in({path: brought}, path, "scaled")) == form(program_in(after, path, "scaled"))


def test_another_launch_of_the_other_makes_another_program(tmp_path: Path) -> None:
    """For it may have been edited; how it is launched there is no matter of the kernel's."""
    late = "\n\ndef late(y, z):\n    shifted[(1,)](y, z, 1, BLOCK={})\n"
    first, second, third = (form(program_of(tmp_path, TEXT + more)[0]) for more in ("", late.format(16), late.format(32)))
    assert first != second == third

"""Kernels of one host function are searched together: what an author is told of the other one, and what becomes of an edit of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelband.explain.words import changes
from kernelband.history.view import EditView
from kernelband.propose import Draft, Rewriter
from kernelband.search.last_trials import FewerEdits
from kernelband.search.trial import Trial
from kernelband.source import Workspace, find_others, find_program, form
from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.propose.test_others import facts_of, known, program_of

from . import fake_lab
from .fake_kernel import TEXT
from .fake_lab import FakeAuthor
from .test_fewer_edits import Layers
from .world import World, rows

BOTH = TEXT.replace(
    "def copy(x):",
    """@triton.jit
def other(x, y, n, SIZE: tl.constexpr):
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def copy(x):""",
).replace("    return y\n\n", "    other[(triton.cdiv(x.numel(), 64),)](y, x, x.numel(), SIZE=64)\n    return y\n\n")


def launches(world: World) -> list[dict[str, Any]]:
    tensors = {n: {"name": n, "shape": [1 << 16], "stride": [1], "dtype": "float32", "storage": i, "offset": 0} for i, n in enumerate("xy")}
    return [
        {
            "kernel": {"module": "k", "path": str(world.file), "qualname": name},
            "grid": [1024, 1, 1],
            "num_warps": 4,
            "num_stages": 3,
            "num_ctas": 1,
            "constants": {constant: 64},
            "scalars": {"n": 1 << 16},
            "tensors": tensors,
            "config": None,
            "target": name == "k",
            **dict.fromkeys(("loads_bytes", "stores_bytes", "flops", "dot_flops", "arithmetic", "functions", "sectors_per_request")),
            **dict.fromkeys(("unique_bytes", "guessed_bytes")),
            "lines": [],
        }
        for name, constant in (("k", "BLOCK"), ("other", "SIZE"))
    ]


def test_moves_of_the_other_kernel_are_tried_and_are_programs_of_their_own(tmp_path: Path, monkeypatch: Any) -> None:
    world = World(tmp_path)
    path = str(world.file)
    world.file.write_text(BOTH)
    monkeypatch.setitem(fake_lab.CASE, "launches", launches(world))
    told: dict[str, tuple[str, ...]] = {}
    proposed: list[str] = []

    class Author(FakeAuthor):
        def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
            told[program.texts[path]] = tuple(o.program.texts[path] for o in facts.others)
            draft = Rewriter().write(program, strategy, facts, already, limit)
            proposed.extend(p.patch.apply(program.texts)[path] for p in draft.proposals if p.parameters.get("kernel") == "other")
            return draft

    world.run(world.options(trials=6, kernel="k"), author=Author())
    assert len(told) > 1
    assert all(others == (text,) for text, others in told.items()), "of a variant it is read anew"
    assert proposed
    assert form_of(path, BOTH) not in {form_of(path, text) for text in proposed}, "an edit of the other kernel makes another program"


def test_known_edits_are_written_again_for_both_as_they_are_by_then(tmp_path: Path, monkeypatch: Any) -> None:
    world = World(tmp_path)
    world.file.write_text(BOTH)
    monkeypatch.setitem(fake_lab.CASE, "launches", launches(world))
    asked: list[bool] = []

    class Author(Layers):
        def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
            (other,) = facts.others
            asked.append(limit > 100)
            assert other.program.texts == program.texts
            return super().write(program, strategy, facts, already, limit)

    ended = world.run(world.options(trials=8, kernel="k"), author=Author())
    assert asked.count(True) > 1
    assert rows(world, ended.run)["variants"][ended.verified[0]].parameters["without"] == [1]


def test_fewer_edits_of_several_kernels_name_them(tmp_path: Path) -> None:
    program, beside = program_of(tmp_path)
    facts = known(program, beside, facts_of(program, share=0.5))
    own, other = Rewriter().write(program, "tiling", facts, set(), 2).proposals
    kept = tuple(Trial(i, "rewriter", p, {"id": "", "files": []}, number=i + 1) for i, p in enumerate((own, other)))

    def again(texts: dict[str, str]) -> Program:
        return find_program(Workspace.for_file(str(tmp_path / "both.py"), texts), str(tmp_path / "both.py"), "scaled")

    def others_of(of: Program) -> tuple[Program, ...]:
        return find_others(Workspace.for_file(str(tmp_path / "both.py"), of.texts), of)

    for trials, kernels in ((kept, ["", "shifted"]), (kept[::-1], ["shifted", ""])):
        found = FewerEdits(0, trials, ()).rewrite(Rewriter(), program, facts, again, others_of)
        assert found is not None
        assert found.parameters["kernels"] == kernels
        assert "kernel" not in found.parameters
        after = found.patch.apply(program.texts)[str(tmp_path / "both.py")]
        assert all(p.patch.apply(program.texts)[str(tmp_path / "both.py")] != after for p in (own, other))
        title = changes([EditView("", found.move, found.parameters, found.what)])
        assert title.count("BLOCK ") == 2
        assert " in shifted" in title
    alone = FewerEdits(0, kept[1:], ()).rewrite(Rewriter(), program, facts, again, others_of)
    assert alone is not None
    assert (alone.parameters["kernel"], alone.parameters.get("kernels")) == ("shifted", None)


def form_of(path: str, text: str) -> str:
    return form(find_program(Workspace.for_file(path, {path: text}), path, "k"))


@pytest.mark.parametrize(
    ("old", "new", "same"), [("tl.store(y + i, x", "tl.store(y  +  i, x", True), ("x + i, mask", "x + 1, mask", False)]
)
def test_a_helper_of_the_other_kernel_matters_too(tmp_path: Path, old: str, new: str, same: bool) -> None:
    helper = "@triton.jit\ndef moved(x, y, i, n):\n    tl.store(y + i, x + i, mask=i < n)\n\n\n"
    body = BOTH[BOTH.index("    i = tl.program_id(0) * SIZE") : BOTH.index("def copy")]
    text = BOTH.replace("@triton.jit\ndef other", f"{helper}@triton.jit\ndef other").replace(
        body, "    moved(x, y, tl.arange(0, SIZE), n)\n\n\n"
    )
    path = str(tmp_path / "k.py")
    Path(path).write_text(text)
    assert old in text
    assert (form_of(path, text) == form_of(path, text.replace(old, new))) is same

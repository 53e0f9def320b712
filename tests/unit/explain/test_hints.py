"""Hints: each has a fact behind it, numbers with units, and a place. No fact, no hint."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kernelband.explain.hints import CODES, MOVES, PAGE, Launched, Material, address, hints, inspected
from kernelband.hardware import find_device
from kernelband.strategies import STRATEGIES
from tests.unit.hardware.conftest import make_work

H100 = find_device("h100")


def material(*works: Any, traffic: tuple[Any, ...] = (), device: Any = H100) -> Material:
    return Material("NVIDIA H100 SXM", device, tuple(Launched(w, "BLOCK=64, num_warps=4") for w in works), traffic)


def warned(word: str, line: int, message: str = "It is so.", /, **more: Any) -> Any:
    work = make_work(**more)
    work.facts["warnings"].append({"code": word, "path": "k.py", "line": line, "message": message})
    return work


def codes(found: Material) -> list[str]:
    return [h.code for h in hints(found)]


def test_nothing_is_said_of_a_kernel_that_has_nothing() -> None:
    assert hints(material(make_work())) == ()
    assert hints(material()) == ()


def test_spills_belong_to_the_kernel_and_name_the_worst_launch() -> None:
    some = warned("spills", 9, "16 bytes stored and 16 bytes loaded per thread.", spills=16, code="a")
    most = warned("spills", 5, "96 bytes stored and 96 bytes loaded per thread.", spills=96, code="b")
    (hint,) = hints(material(some, most))
    assert (hint.code, hint.where) == ("spills", "kernel")
    assert hint.message.startswith("96 bytes stored")


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("narrow-access", "narrow-access"),
        ("wgmma-serialized", "wgmma-serialized"),
        ("shared-over-limit", "over-limit"),
        ("threads-over-limit", "over-limit"),
        ("tensor-memory-over-limit", "over-limit"),
    ],
)
def test_what_the_compiler_says_belongs_to_its_line_and_is_said_once(word: str, code: str) -> None:
    (hint,) = hints(material(warned(word, 7, code="a"), warned(word, 7, "It is otherwise.", code="b")))
    assert (hint.code, hint.where, hint.path, hint.line) == (code, "line", "k.py", 7)
    assert hint.message == "It is so (compiled for NVIDIA H100 SXM with BLOCK=64, num_warps=4)."


def test_what_the_interpreter_saw_says_so() -> None:
    seen: Any = tuple(
        {"code": c, "path": "k.py", "line": n, "message": f"{c}."}
        for n, c in enumerate(("out-of-bounds", "mask-always-true", "uncoalesced"), 3)
    )
    found = hints(material(make_work(), traffic=seen))
    assert [(h.code, h.line) for h in found] == [("uncoalesced", 5), ("mask-always-true", 4), ("out-of-bounds", 3)]
    assert found[0].message == "uncoalesced (interpreted)."


def test_a_warning_that_is_not_known_is_left_out() -> None:
    assert hints(material(warned("of-tomorrow", 3))) == ()


def test_low_occupancy_names_its_cause_where_more_programs_would_come() -> None:
    (hint,) = hints(material(make_work(registers=250, warps=4)))
    assert (hint.code, hint.where) == ("low-occupancy", "kernel")
    for words in ("12 %", "limited by registers", "250 registers per thread", "8 of 64 warps"):
        assert words in hint.message
    shared = hints(material(make_work(shared=100_000, warps=4)))
    assert "limited by shared memory" in shared[0].message
    few = make_work(registers=250, warps=4, programs=2 * H100.multiprocessors)
    assert codes(material(few)) == []  # they all fit at once
    assert codes(material(evolve(few, programs=2 * H100.multiprocessors + 1))) == ["low-occupancy"]
    assert codes(material(make_work(registers=250, warps=4, tensor_core="wgmma"))) == []
    half: Any = None
    assert codes(material(make_work(registers=half, shared=100_000))) == []  # half the facts


def test_too_few_programs_are_counted_of_the_largest_launch() -> None:
    (hint,) = hints(material(make_work(programs=8), make_work(programs=12)))
    assert (hint.code, hint.where) == ("too-few-programs", "launch")
    for words in ("12 programs", "132 multiprocessors", "120 of them", "(grid as captured"):
        assert words in hint.message
    assert codes(material(make_work(programs=8), make_work(programs=4096))) == []
    assert codes(material(make_work(programs=66))) == []  # half of them
    assert "1 program for" in hints(material(make_work(programs=1)))[0].message


def test_too_many_programs_are_said_where_starting_them_takes_longest() -> None:
    little = {"dram_bytes": 1e8, "moved_bytes": 1e8, "flops": 1e6}
    (hint,) = hints(material(make_work(programs=8, **little), make_work(programs=262144, **little)))
    assert (hint.code, hint.where) == ("too-many-programs", "launch")
    for words in ("262,144 programs", "about 158 µs", "(grid as captured"):
        assert words in hint.message
    assert codes(material(make_work(programs=262144, **{**little, "dram_bytes": 1e9}))) == []  # they do more than that
    assert codes(material(make_work(programs=262144))) == []  # nobody knows what they do
    assert codes(material(make_work(programs=16384, **{**little, "dram_bytes": 1e6, "moved_bytes": 1e6}))) == []  # a few launches long


def test_nothing_is_reckoned_for_a_gpu_that_is_not_known() -> None:
    assert codes(material(warned("spills", 5, registers=250, programs=1), device=None)) == ["spills"]


def row(**more: Any) -> dict[str, Any]:
    facts = dict(warned("narrow-access", 9).facts)
    mask = {"code": "mask-always-true", "path": "k.py", "line": 10, "message": "The mask hid nothing."}
    given = {"kernel": "kernel", "path": "k.py", "gpu": "h100", "case": "c", "grid": [2, 1, 1], "constants": {"BLOCK": 64}, "error": None}
    return {**given, "facts": facts, "warnings": [*facts["warnings"], mask], **more}


def test_an_inspection_gives_the_same() -> None:
    found = inspected([row(), row(case="d"), row(kernel="another"), {**row(), "facts": None, "error": "no"}], "kernel")
    assert found is not None
    assert codes(found) == ["narrow-access", "mask-always-true", "too-few-programs"]
    assert "with BLOCK=64, num_warps=4" in hints(found)[0].message
    assert inspected([row()], "another") is None
    unknown = inspected([row(gpu="of-tomorrow")], "kernel")
    assert unknown is not None
    assert "compiled for of-tomorrow" in hints(unknown)[0].message


def test_every_move_that_addresses_a_code_exists() -> None:
    known = {f"{s.card.name}.{m.name}" for s in STRATEGIES for m in s.moves}
    assert MOVES.keys() == CODES.keys()
    assert set().union(*MOVES.values()) <= known


def test_every_code_is_described_with_its_moves() -> None:
    text = PAGE.read_text(encoding="utf-8")
    sections = {code.strip(): body for code, _, body in (part.partition("\n") for part in text.split("\n## ")[1:])}
    assert [c for c in sections if c[0].islower()] == [*CODES]
    for code in CODES:
        link = urlsplit(str(address(code)))
        assert link.scheme == "file"
        assert Path(url2pathname(link.path)).read_text(encoding="utf-8").split("\n")[int(link.fragment[1:]) - 1] == f"## {code}"
        assert set(re.findall(r"`([a-z_]+\.[a-z_0-9]+)`", sections[code])) - {"tl.dot"} == MOVES[code]


NUMBER = st.integers(0, 10_000)


@given(
    st.lists(
        st.builds(
            make_work,
            registers=st.none() | st.integers(0, 300),
            shared=st.integers(0, 300_000),
            warps=st.integers(1, 64),
            programs=NUMBER,
            spills=NUMBER,
        ),
        max_size=3,
    ),
    st.sampled_from([None, *[find_device(name) for name in ("h100", "mi300x", "rtx4090")]]),
)
def test_any_facts_give_sentences(works: list[Any], device: Any) -> None:
    for hint in hints(material(*works, device=device)):
        assert hint.code in CODES
        assert hint.message.endswith(").")
        assert "None" not in hint.message

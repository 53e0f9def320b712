"""A variant's line: the whole chain against the original."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kernelband.explain.words import BEGIN, MOVES, changes, titles, titles_of, worth_trying
from kernelband.history.records import FinalRow
from kernelband.history.view import EditView
from kernelband.strategies import STRATEGIES
from tests.unit.history.rows import trial_row, variant_row

SIZED = {"tiles", "more_programs", "heuristic_blocks"}  # the sizes that they change say what they do


def step(move: str, parameters: dict[str, object], what: str) -> EditView:
    return EditView("", move, parameters, what)


def test_each_move_has_words_of_its_own() -> None:
    ours = {name.partition(" ")[0] for name in MOVES}
    assert {move.name for strategy in STRATEGIES for move in strategy.moves} - ours <= SIZED
    assert len(set(MOVES.values())) == len(MOVES)


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ([("tiles", {"BLOCK": 128}, "BLOCK 64→128.")], "BLOCK 64→128"),
        (
            [
                ("tiles", {"BLOCK": 32, "num_warps": 2}, "BLOCK 16→32 and num_warps 4→2, with the grid."),
                ("split_k", {"parts": 4}, "The loop over K is split."),
                ("tiles", {"BLOCK": 64, "num_warps": 8}, "BLOCK 32→64 and num_warps 2→8."),
            ],
            "BLOCK 16→64 · split-K 4 · 8 warps",
        ),
        (
            [
                ("tiles", {"BLOCK": 64, "num_warps": 8}, "BLOCK 32→64 and num_warps 4→8."),
                ("tiles", {"BLOCK": 16, "num_warps": 2, "kernel": "K.last"}, "last: BLOCK 32→16 and num_warps 4→2."),
                ("exp2", {"kernel": "K.last"}, "last: exp(x) becomes exp2."),
            ],
            "BLOCK 32→64 · 8 warps · BLOCK 32→16 in last · exp2 in last · 2 warps in last",
        ),
        (
            [("tiles", {"num_warps": 2, "kernels": ["", "last"]}, "BLOCK 32→64; last: BLOCK 32→16 and num_warps 4→2")],
            "BLOCK 32→64 · BLOCK 32→16 in last · 2 warps in last",
        ),
        ([("tiles", {}, "BLOCK 64→32."), ("tiles", {}, "BLOCK 32→64."), ("exp2", {}, "exp(x) becomes exp2.")], "exp2"),
        ([("loop_stages", {"num_stages": 3}, "The loads are issued 2 iterations ahead.")], "3-stage loop"),
        ([("tiles", {"num_warps": 1}, "num_warps 4→1.")], "1 warp"),
        ([("tiles", {"BLOCK": 8}, "BLOCK 16 -> 8 and num_warps 4 -> 8.")], "BLOCK 16→8 · 8 warps"),  # as older histories have it
        (
            [("elements_per_thread", {"elements": n}, "Warps follow the block.") for n in (32, 16)] + [("exp2", {}, "It becomes exp2.")],
            "16 elements/thread · exp2",
        ),
        ([("even_blocks", {"size": n}, "The mask folds away.") for n in ("m", "n")], "no mask over even m · no mask over even n"),
        ([("rows_per_program", {"rows": 8, "num_warps": 4}, "Each program takes 8 values.")], "8 rows/program · 4 warps"),
        ([("model", {"text": "1a"}, "Keeps the row in registers.")], "Keeps the row in registers"),
        ([("model", {}, "word " * 40)], " ".join(["word"] * 11) + "…"),
    ],
)
def test_the_chain_in_a_line(steps: list[tuple[str, dict[str, object], str]], wanted: str) -> None:
    assert changes(step(*made) for made in steps) == wanted


def test_each_title_of_a_list_begins_in_its_own_way() -> None:
    tiles = step("tiles", {"num_warps": 8}, "BLOCK_SIZE_M 64→128 and num_warps 4→8.")
    split, exp2, hints = step("split_k", {"parts": 4}, "."), step("exp2", {}, "."), step("cache_hints", {"plan": "stream"}, ".")
    found = titles({1: [tiles], 2: [tiles, split, hints], 3: [tiles, split, exp2], 4: [exp2], 5: [tiles, split, hints], 6: []})
    assert found[1] == "BLOCK_SIZE_M 64→128 · 8 warps"
    assert found[3] == "exp2 · BLOCK_SIZE_M 64→128 · split-K 4 · 8 warps"
    assert found[2].startswith("#2 · ")
    assert found[5].startswith("#5 · ")
    assert len({said[:BEGIN] for said in found.values()}) == len(found)


@given(st.dictionaries(st.integers(1, 99), st.lists(st.sampled_from(["exp2", "rsqrt", "unroll", "nothing of ours"]), max_size=4)))
def test_whatever_they_are(moves: dict[int, list[str]]) -> None:
    found = titles({number: [step(move, {"factor": number}, "Text.") for move in chain] for number, chain in moves.items()})
    assert len({said[:BEGIN] for said in found.values()}) == len(moves)


def test_what_is_worth_trying_has_a_reason_of_its_own() -> None:
    known = [(1, "likely slower", "wider"), (2, "unclear", ""), (3, "unclear", "wider"), (4, "unclear", "wider"), (5, "unclear", "fewer")]
    assert worth_trying(known) == [3, 5]
    assert worth_trying((n, "unclear", str(n)) for n in range(9)) == [0, 1, 2]


@pytest.mark.parametrize("is_measured", [True, False])
def test_the_titles_of_a_run_differ_among_what_is_shown_of_it(*, is_measured: bool) -> None:
    """The third has the same words as the second, and nothing to say for it: it takes no place in their list."""
    forecast = {"tier": "likely faster"}
    variants = {n: evolve(variant_row(number=n), key=str(n), what=w, forecast=forecast) for n, w in ((1, "same"), (2, "same"), (3, "same"))}
    ok = {"correctness": "passed" if is_measured else "interpreted"}
    tried = [evolve(trial_row(number=n), variant=n, **(ok if n < 3 else {"correctness": "wrong"})) for n in variants]
    finals = {n: FinalRow("a1b2c3", n, n < 3, 1.2, 1.1, 1.3, {}, seconds=1.0) for n in variants}
    found = titles_of(variants, tried, finals if is_measured else None)
    assert found == {1: "#1 · same", 2: "#2 · same", 3: "same"}

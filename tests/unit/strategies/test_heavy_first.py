"""``heavy_first``: the programs with the longest loops start first."""

from __future__ import annotations

import pytest

from tests.unit.strategies.order_samples import TEXTS
from tests.unit.strategies.test_reordering import changed, moves


def test_the_longest_programs_start_first(tmp_path):
    program, found = moves("attention", tmp_path, "heavy_first")
    assert [(p.key, p.numerics) for p in found] == [("reordering.heavy_first(axis=0)", "exact")]
    assert changed(program, found[0]) == [
        "-    start_m = tl.program_id(0)",
        "+    # The programs with the longest loops start first, so that the last ones to finish are short.",
        "+    start_m = tl.num_programs(0) - 1 - tl.program_id(0)",
    ]


LOOP = "range(0, (start_m + 1) * BLOCK_M, BLOCK_N)"


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [
        ("range(0, tl.minimum(start_m * BLOCK_M + BLOCK_M, n_ctx), BLOCK_N)", True),
        ("range(0, (start_m // 2 + 1) * BLOCK_M, BLOCK_N)", True),
        ("range(0, start_m * BLOCK_M if HEAD_DIM > 16 else n_ctx, BLOCK_N)", True),
        ("range(0, n_ctx, BLOCK_N)", False),  # all alike
        ("range(start_m * BLOCK_M, n_ctx, BLOCK_N)", False),  # the longest come first as it is
        ("range(0, n_ctx - start_m * BLOCK_M, BLOCK_N)", False),
        ("range(0, (start_m % 4 + 1) * BLOCK_M, BLOCK_N)", False),  # up and down
        ("range(0, start_m * start_m, BLOCK_N)", False),  # not followed
    ],
)
def test_heavy_first_needs_loops_that_grow_with_the_id(bounds, wanted, tmp_path):
    assert LOOP in TEXTS["attention"]
    assert bool(moves("attention", tmp_path, "heavy_first", text=TEXTS["attention"].replace(LOOP, bounds))[1]) == wanted


IDS = "    start_m = tl.program_id(0)\n    head = tl.program_id(1)\n"


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        ("start_m, head = tl.program_id(0).to(tl.int64), tl.program_id(1)", "start_m, head = ({}).to(tl.int64), tl.program_id(1)"),
        ("start_m = tl.cast(tl.program_id(0), tl.int64); head = tl.program_id(1)", None),
        ("head, start_m = tl.program_id(1), tl.program_id(0)", "head, start_m = tl.program_id(1), ({})"),
    ],
)
def test_ids_that_are_bound_together_or_widened_count_from_the_end(ids, wanted, tmp_path):
    assert IDS in TEXTS["attention"]
    program, found = moves("attention", tmp_path, "heavy_first", text=TEXTS["attention"].replace(IDS, f"    {ids}\n"))
    rows = [row for p in found for row in changed(program, p) if row.startswith("+")]
    told = "+    # The programs with the longest loops start first, so that the last ones to finish are short."
    assert rows == ([told, f"+    {wanted.format('tl.num_programs(0) - 1 - tl.program_id(0)')}"] if wanted else [])


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [
        ("range(start_m * BLOCK_M, start_m * BLOCK_M + BLOCK_M, BLOCK_N)", True),  # the diagonal
        ("range(start_m * BLOCK_M, n_ctx, BLOCK_N)", False),  # the shorter, the longer the other
        ("range(0, n_ctx, BLOCK_N)", True),
    ],
)
def test_a_second_loop_is_of_one_length_or_grows_too(bounds, wanted, tmp_path):
    more = f"    acc = acc / l_i[:, None]\n    for start_n in {bounds}:\n        acc = acc * 1.0\n"
    text = TEXTS["attention"].replace("    acc = acc / l_i[:, None]\n", more)
    assert bool(moves("attention", tmp_path, "heavy_first", text=text)[1]) == wanted


def test_heavy_first_needs_more_programs_than_run_at_once(tmp_path):
    assert moves("attention", tmp_path, "heavy_first", grid=[4, 8, 1])[1] == []


def test_heavy_first_is_done_once(tmp_path):
    program, found = moves("attention", tmp_path, "heavy_first")
    text = found[0].patch.apply(program.texts)[program.kernel.place.path]
    assert moves("attention", tmp_path, "heavy_first", text=text)[1] == []

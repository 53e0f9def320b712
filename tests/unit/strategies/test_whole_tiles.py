"""Blocks without masks grow where the host function sees that they divide the sizes, and nowhere else."""

from __future__ import annotations

import pytest

from tests.unit.strategies.samples import made_by
from tests.unit.strategies.test_tiling import changed
from tests.unit.strategies.whole_samples import TEXTS, given

HOST = "    c = torch.empty(M, N, device=a.device)\n"
LAUNCH = "product_kernel[(M // 32, N // 32)](a, b, c, M, N, K, BM=32, BN=32, BK=32)"


def tiles(name, tmp_path, *edits, size=0):
    program, facts = given(name, tmp_path, *edits, size=size)
    return program, made_by("tiles", program, facts)


def larger(found, *blocks):
    return {b for b in blocks for p in found if p.parameters.get(b, 32) > 32}


def test_the_launch_asks_whether_larger_blocks_divide_and_keeps_the_small_ones(tmp_path):
    program, found = tiles("products", tmp_path)
    picked = next(p for p in found if [p.parameters[b] for b in ("BM", "BN", "BK", "num_warps")] == [64, 128, 32, 8])
    flag = "    whole = M % 64 == 0 and N % 128 == 0  # blocks without masks must divide these"
    stages = picked.parameters["num_stages"]
    options = "num_warps=8 if whole else 4" + (f", num_stages={stages} if whole else 3" if stages != 3 else "")
    launched = (
        "    product_kernel[(M // (64 if whole else 32), N // (128 if whole else 32))]"
        f"(a, b, c, M, N, K, BM=(64 if whole else 32), BN=(128 if whole else 32), BK=32, {options})"
    )
    assert changed(program, picked) == [f"-    {LAUNCH}", f"+{flag}", f"+{launched}"]
    assert "with the grid, where 64 divides M, and 128 divides N." in picked.what


@pytest.mark.parametrize("name", TEXTS)
def test_only_multiples_that_divide_the_cases_are_asked_for(name, tmp_path):
    blocks = ("BM", "BN", "BK", "BE")
    _, found = tiles(name, tmp_path)
    assert larger(found, *blocks) == ({"BE"} if name == "states" else {"BM", "BN", "BK"})
    _, found = tiles(name, tmp_path, size=96)
    assert not larger(found, *blocks)


def test_numbers_in_variables_above_the_launch(tmp_path):
    edits = [
        (f"{HOST}    {LAUNCH}", f"{HOST}    size = 32\n    {LAUNCH}"),
        ("M // 32, N // 32", "M // size, N // 32"),
        ("BM=32", "BM=size"),
    ]
    program, found = tiles("products", tmp_path, *edits)
    picked = next(p for p in found if p.parameters["BM"] == 64 and p.parameters["BK"] == 32)
    lines = changed(program, picked)
    assert next(i for i, x in enumerate(lines) if "whole = M % 64 == 0" in x) + 1 == lines.index("+    size = (64 if whole else 32)")


@pytest.mark.parametrize(
    ("edits", "stay"),
    [
        ([("    M, K = a.shape\n", "    M, K = a.shape\n    M = M + 0\n")], {"BM"}),  # which of the two is meant
        ([("    M, K = a.shape\n    N = b.shape[1]\n", "    M, K = a.shape\n    N, M, K = b.shape[1], M, K\n")], {"BM", "BN", "BK"}),
        ([("M // 32", "(M + 64) // 32 - 2")], {"BM"}),
        ([("M // 32", "min(M // 32, 4)")], {"BM"}),  # no more than so many blocks
        ([("M // 32", "M // 32 // 4"), ("tl.program_id(0) * BM", "tl.program_id(0) * BM * 4")], {"BM"}),
        ([("    c = torch", "    if M == 0:\n        return a\n    c = torch")], set()),  # above the question
        ([(HOST, f"    BM = 32\n{HOST}    if N == 7:\n        return c\n"), ("BM=32", "BM=BM"), ("M // 32", "M // BM")], {"BM"}),
        (
            [
                ("    product_kernel[(M // 32, N // 32)]", "    run = lambda M: product_kernel[(M // 32, N // 32)]"),
                ("    return c", "    run(M)\n    return c"),
            ],
            {"BM", "BN", "BK"},
        ),
        ([("    return c", f"    {LAUNCH}\n    return c")], {"BM", "BN", "BK"}),  # a second launch
        (
            [
                ("    c = torch", "    grid = (M // 32, N // 32)\n    c = torch"),
                (LAUNCH, LAUNCH.replace("(M // 32, N // 32)", "grid")),
                ("    return c", "    product_kernel[grid](a, b, c, M, N, K, BM=32, BN=32, BK=32)\n    return c"),
            ],
            {"BM", "BN", "BK"},
        ),
        ([("M // 32, N", "a.rows // 32, N")], {"BM"}),  # anybody may change it
        (
            [
                ("    c = torch", "    BM = BN = 32\n    BM = 32\n    BN = 32\n    c = torch"),
                ("M // 32, N // 32", "M // BN, N // BM"),
                ("BM=32, BN=32", "BM=BM, BN=BN"),
            ],
            {"BM", "BN"},
        ),
        ([("M, K = a.shape", "M, K = a.shape[0], None if a is b else a.shape[1]")], {"BK"}),
        ([("    c = torch", "    size = 32\n    c = torch"), ("M // 32", "M // size + 0 * size"), ("BM=32", "BM=size")], {"BM"}),
        ([("M // 32,", "tiles,"), ("    c = torch", "    tiles = max(1, 32 // 32 * M // 32)\n    c = torch")], {"BM"}),
        ([("range(0, K, BK)", "range(K % BK, K, BK)")], {"BK"}),
        ([("range(0, K, BK)", "range(0, K - BK, BK)")], {"BK"}),
        ([("    for _ in range(0, K, BK):", "    i = 0\n    while i < K:\n        i += BK")], {"BM", "BN", "BK"}),
        ([("(M // 32, N // 32)", "(M // 32 * (N // 32),)"), ("tl.program_id(1)", "(tl.program_id(0) // M)")], {"BM", "BN"}),
    ],
)
def test_what_nobody_can_ask_at_the_launch_stays(edits, stay, tmp_path):
    _, found = tiles("products", tmp_path, *edits)
    assert not larger(found, *stay)


@pytest.mark.parametrize(
    ("edit", "stay"),
    [
        (("    acc = tl.zeros", "    a = tl.advance(a, (BM, 0))\n    acc = tl.zeros"), "BM"),
        (("tl.load(a, boundary", "tl.load(tl.advance(a, (BM, 0)), boundary"), "BM"),
        (("    c = tl.make", "    z = tl.advance(a, (BM, 0))\n    c = tl.make"), "BM"),
        (("    for _ in range(0, K, BK):", "    for _ in range(4):"), "BK"),
        (("offsets=(pm * BM, 0), block_shape=(BM, BK)", "offsets=(pm * 32, 0), block_shape=(BM, BK)"), "BM"),
        (("offsets=(0, pn * BN)", "offsets=(0, pn * BN + BN)"), "BN"),
        (("shape=(M, K), strides=(K, 1)", "shape=(M, K), strides=(BM, 1)"), "BM"),
        (("tl.advance(a, (0, BK))", "tl.advance(a, (0, 32))"), "BK"),
        (("tl.advance(b, (BK, 0))", "tl.advance(b, (BK, BK))"), "BK"),
        (("offsets=(0, pn * BN)", "offsets=(BK, pn * BN)"), "BK"),
        (("        a = tl.advance(a, (0, BK))\n", "        if pm > 1:\n            a = tl.advance(a, (0, BK))\n"), "BK"),
        (("        a = tl.advance(a, (0, BK))\n", "        a = tl.advance(b, (0, BK))\n"), "BK"),
        (("        b = tl.advance", "        a = tl.advance(a, (0, BK))\n        b = tl.advance"), "BK"),
    ],
)
def test_block_pointers_that_say_more_than_a_place_keep_their_shape(edit, stay, tmp_path):
    _, found = tiles("pointers", tmp_path, edit)
    assert found
    assert all(p.parameters.get(stay, 32) == 32 for p in found)


def test_a_block_that_a_condition_chose_is_no_number(tmp_path):
    program, found = tiles("products", tmp_path, ("BM=32", "BM=32 if M % 32 == 0 else 16"), ("M // 32", "M // (32 if M % 32 == 0 else 16)"))
    assert found
    assert all("BM" not in p.parameters for p in found)
    # So what has been chosen stays chosen, whatever is done to it next.
    program, found = tiles("products", tmp_path)
    grown = next(p for p in found if p.parameters["BM"] > 32).patch.apply(program.texts)[program.kernel.place.path]
    again = [(TEXTS["products"], grown[grown.index("@triton.jit") :])]
    assert all("BM" not in p.parameters for p in tiles("products", tmp_path, *again)[1])


@pytest.mark.parametrize("edit", [("a += BK", "a += 32"), ("range(0, K, BK)", "range(4)")])
def test_a_pointer_that_does_not_go_on_with_the_loop_keeps_its_block(edit, tmp_path):
    """By another number than the loop, or by blocks in a loop that doesn't go by them."""
    assert all(p.parameters.get("BK", 32) == 32 for p in tiles("products", tmp_path, edit)[1])


def test_a_block_that_the_host_computes_shrinks_only_where_it_divides(tmp_path):
    """For other sizes it may be smaller than in the cases."""
    above = "    B, T, D = q.shape\n"
    edits = [("BE=32", "BE=rows"), ("D // 32", "D // rows"), (above, f"{above}    rows = min(32, D)\n")]
    program, found = tiles("states", tmp_path, *edits)
    picked = next(p for p in found if p.parameters["BE"] == 16)
    assert "+    rows = (16 if whole else min(32, D))" in changed(program, picked)

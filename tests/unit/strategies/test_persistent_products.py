"""``persistent_products``: programs take tiles of a product in turn, in one loop with the product's own, where that helps."""

from __future__ import annotations

import attrs
import pytest

from kernelband.strategies.access_layout.even import numbered_block
from kernelband.strategies.code import View
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.reordering.groups import stays_below
from tests.unit.strategies.order_samples import TEXTS, captured
from tests.unit.strategies.samples import H200, example, example_facts, made_by, program_of
from tests.unit.strategies.test_reordering import changed, moves

MOVE = "persistent_products"
IDS = "    pid_m = tl.program_id(0)\n    pid_n = tl.program_id(1)\n"


def test_tiles_of_all_axes_are_taken_in_turn(tmp_path):
    program, found = moves("batched", tmp_path, MOVE)
    assert [(p.key, p.numerics) for p in found] == [(f"reordering.persistent_products(per_multiprocessor={n})", "exact") for n in (4, 2, 1)]
    added = [row[1:] for row in changed(program, found[1]) if row.startswith("+")]
    even = 'args["M"] % args["BLOCK_M"] == 0 and args["N"] % args["BLOCK_N"] == 0 and (args["M"] | args["N"] | args["K"]) % 16 == 0'
    lines = even.split(" and ")
    assert added[:5] == [
        "@triton.heuristics({",
        f'    "EVEN": lambda args: {lines[0]}',
        *(f"        and {line}" for line in lines[1:-1]),
        f"        and {lines[-1]},",
        "})",
    ]
    assert "def bmm_kernel(" in added[5]
    assert added[5].endswith("BLOCK_K: tl.constexpr, EVEN: tl.constexpr, B):")
    assert added[6:18] == [
        "    num_pid_m = tl.cdiv(M, BLOCK_M)",
        "    num_pid_n = tl.cdiv(N, BLOCK_N)",
        "    a_ptr_start = a_ptr",
        "    b_ptr_start = b_ptr",
        "    c_ptr_start = c_ptr",
        "    for tile in tl.range(tl.program_id(0), num_pid_m * num_pid_n * B, tl.num_programs(0), flatten=EVEN):",
        "        pid_m = tile % num_pid_m",
        "        a_ptr = a_ptr_start",
        "        b_ptr = b_ptr_start",
        "        c_ptr = c_ptr_start",
        "        pid_n = tile // num_pid_m % num_pid_n",
        "        batch = tile // (num_pid_m * num_pid_n)",
    ]
    assert any("mask=((offs_m[:, None] < M) | EVEN) & (k + offs_k[None, :] < K)" in row for row in added)
    assert added[-1].strip() == (
        'bmm_kernel[lambda META: (min(triton.cdiv(M, 32) * triton.cdiv(N, 64) * B, 132 * 2 if META["EVEN"] else 2**31 - 1),)]'
        "(a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32, B=B)"
    )


def test_a_product_of_one_id_keeps_its_name_and_needs_no_flag_for_masks(tmp_path):
    program = example("matmul", tmp_path)
    added = [row[1:] for row in changed(program, made_by(MOVE, program, example_facts("matmul", program))[0]) if row.startswith("+")]
    count = "tl.cdiv(M, BLOCK_SIZE_M) * tl.cdiv(N, BLOCK_SIZE_N)"
    assert f"    for pid in tl.range(tl.program_id(0), {count}, tl.num_programs(0), flatten=EVEN):" in added
    assert not any("| EVEN" in row for row in added)


def with_text(*changes):
    text = TEXTS["batched"]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    "text",
    [
        with_text(("    acc = tl", "    tl.atomic_add(c_ptr, 0.0)\n    acc = tl")),
        with_text(("    acc = tl", "    if pid_m > K:\n        return\n    acc = tl")),
        with_text(("    acc = tl", "    count = tl.num_programs(0)\n    acc = tl")),
        with_text(("    acc = tl", "    for _ in range(3):\n        pid_n += 0\n    acc = tl")),
        with_text(("c = torch.empty((B, M, N), device=a.device, dtype=a.dtype)", "c = a")),  # another tile's operand
        with_text(("(offs_m[:, None] < M) & (k", "(offs_m[:, None] < M - 1) & (k")),
        with_text(("(offs_m[:, None] < M) & (k", "(offs_m[:, None] < N) & (k")),  # the grid ends elsewhere
        with_text(
            ("bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64), B)]", "bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64), f(B))]")
        ),
        with_text(
            ("bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64), B)]", "bmm_kernel[grid]"),
            ("    c = torch", "    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64), B)\n    print(grid)\n    c = torch"),
        ),
        with_text(
            ("bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64), B)]", "bmm_kernel[grid]"),
            ("    c = torch", "    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64), B)\n    B = B // 2\n    c = torch"),
        ),
    ],
)
def test_what_it_can_not_prove_it_leaves_alone(text, tmp_path):
    assert moves("batched", tmp_path, MOVE, text=text)[1] == []


def test_few_tiles_old_compilers_and_other_vendors_get_none(tmp_path):
    assert moves("batched", tmp_path, MOVE, grid=[4, 4, 4])[1] == []
    assert moves("batched", tmp_path, MOVE, triton=(3, 2))[1] == []
    assert moves("batched", tmp_path, MOVE, device=attrs.evolve(H200, backend="hip"))[1] == []
    assert [p.parameters for p in moves("batched", tmp_path, MOVE, grid=[10, 10, 2])[1]] == [{"per_multiprocessor": 1}]


def test_persistent_programs_of_products_are_one_loop_or_none(tmp_path):
    program = example("matmul", tmp_path)
    assert made_by("persistent", program, example_facts("matmul", program)) == []
    old = attrs.evolve(example_facts("matmul", program), triton=(3, 2))
    assert made_by("persistent", program, old) != []


# ---------------------------------------------------------------- numbers made of the program's

GROUPED = """\
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BLOCK_M)
    num_n = tl.cdiv(N, BLOCK_N)
    width = GROUP * num_n
    first = pid // width * GROUP
    size = min(num_m - first, GROUP)
    pid_m = first + pid % width % size
    pid_n = pid % width // size
"""
ROWS = "    pid = tl.program_id(0)\n    num_n = tl.cdiv(N, BLOCK_N)\n    pid_m = pid // num_n\n    pid_n = pid % num_n\n"


@pytest.mark.parametrize(
    ("ids", "masked"),
    [
        (ROWS, True),
        (GROUPED, True),
        (ROWS.replace("pid // num_n", "pid // num_n + 1"), False),
        (ROWS.replace("tl.cdiv(N, BLOCK_N)", "tl.cdiv(N, BLOCK_M)"), False),
        (ROWS.replace("tl.cdiv(N, BLOCK_N)", "N"), False),  # elements for tiles
        (GROUPED.replace("num_m - first", "M - first"), False),
    ],
)
def test_masks_of_rows_fold_away_where_the_number_stays_below_the_rows(ids, masked, tmp_path):
    """One id that is taken apart: which tile is whose is tried out on small grids."""
    text = with_text(
        (IDS, ids), ("    batch = tl.program_id(2)\n", ""), ("(M, 32), triton.cdiv(N, 64), B)", "(M, 32) * triton.cdiv(N, 64),)")
    )
    for moved in ("    a_ptr += batch * M * K\n", "    b_ptr += batch * K * N\n", "    c_ptr += batch * M * N\n"):
        text = text.replace(moved, "")
    text = text.replace("BLOCK_K: tl.constexpr)", "BLOCK_K: tl.constexpr, GROUP: tl.constexpr)").replace(
        "BLOCK_K=32)", "BLOCK_K=32, GROUP=8)"
    )
    program, found = moves("batched", tmp_path, MOVE, text=text, grid=[512, 1, 1])
    assert bool(found) == masked
    if masked:
        assert any('args["M"] % args["BLOCK_M"] == 0' in row for row in changed(program, found[0]))


def test_a_number_of_the_program_is_found_behind_its_name(tmp_path):
    program = program_of(with_text((IDS, ROWS)), tmp_path, "sample.py")
    view = View.read(program, captured("batched", program, device=H200))
    assert view is not None
    kernel = view.kernel
    assert isinstance(kernel, KernelView)
    bound = kernel.bindings("offs_m")[0].value
    block, number = numbered_block(kernel, bound, bound)
    assert block == "BLOCK_M"
    assert not stays_below(view, number, "M", "BLOCK_M")  # the grid has three axes


def test_a_group_that_is_cut_off_by_elements_is_no_order_of_tiles(tmp_path):
    """As long as blocks were of one element there, a length stood for the number of its tiles."""
    made = {}
    for last in ("num_m - first", "M - first"):
        text = with_text(
            (IDS, GROUPED.replace("num_m - first", last)), ("(M, 32), triton.cdiv(N, 64), B)", "(M, 32) * triton.cdiv(N, 64),)")
        )
        text = text.replace("    batch = tl.program_id(2)\n", "    batch = 0\n")
        text = text.replace("BLOCK_K: tl.constexpr)", "BLOCK_K: tl.constexpr, GROUP: tl.constexpr)").replace(
            "BLOCK_K=32)", "BLOCK_K=32, GROUP=8)"
        )
        made[last] = bool(moves("batched", tmp_path, "grouped_order", text=text, grid=[512, 1, 1])[1])
    assert made == {"num_m - first": True, "M - first": False}

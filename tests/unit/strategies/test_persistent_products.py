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
    assert added[6:12] == [
        "    num_pid_m = tl.cdiv(M, BLOCK_M)",
        "    num_pid_n = tl.cdiv(N, BLOCK_N)",
        "    for tile in tl.range(tl.program_id(0), num_pid_m * num_pid_n * B, tl.num_programs(0), flatten=EVEN):",
        "        pid_m = tile % num_pid_m",
        "        pid_n = tile // num_pid_m % num_pid_n",
        "        batch = tile // (num_pid_m * num_pid_n)",
    ]
    assert "        a_ptr_tile = a_ptr + batch * M * K" in added  # the next tile begins with what was passed
    assert any("a = tl.load(a_ptr_tile + offs_m" in row for row in added)
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


def test_ids_may_be_bound_together_and_widened_and_asked_how_many_there_are(tmp_path):
    text = with_text(
        (IDS, "    pid_m, pid_n = tl.program_id(0).to(tl.int64), tl.program_id(1)\n    rows = tl.num_programs(0)\n"),
        ("(offs_m[:, None] < M) & (k", "(k"),
        (" & (offs_n[None, :] < N), other", ", other"),
    )
    program, found = moves("batched", tmp_path, MOVE, text=text)
    added = [row[1:] for row in changed(program, found[0]) if row.startswith("+")]
    assert "        pid_m, pid_n = (tile % num_0).to(tl.int64), tile // num_0 % num_1" in added
    assert "        rows = num_0" in added


def test_a_pointer_is_moved_on_by_what_stands_in_parentheses_or_over_two_lines(tmp_path):
    text = with_text(
        ("    a_ptr += batch * M * K\n", "    a_ptr += (batch *\n              M * K)\n"),
        ("    c_ptr += batch", "    c_ptr += -1 + 1 - 0 + batch"),
    )
    program, found = moves("batched", tmp_path, MOVE, text=text)
    added = [row[1:] for row in changed(program, found[0]) if row.startswith("+")]
    assert "        a_ptr_tile = a_ptr + (batch *" in added
    assert "        c_ptr_tile = c_ptr + -1 + 1 - 0 + batch * M * N" in added


def test_two_names_of_one_id_both_get_it(tmp_path):
    program = example("matmul", tmp_path)
    path = program.kernel.place.path
    text = program.texts[path].replace("pid = tl.program_id(axis=0)", "pid = own = tl.program_id(axis=0)")
    program = program_of(text, tmp_path, "two.py")
    added = [row[1:] for row in changed(program, made_by(MOVE, program, example_facts("matmul", program))[0]) if row.startswith("+")]
    assert "        pid = own = tile" in added


def test_parameters_with_a_default_are_no_hindrance(tmp_path):
    program, found = moves(
        "batched", tmp_path, MOVE, text=with_text(("BLOCK_K: tl.constexpr)", "BLOCK_K: tl.constexpr, X: tl.constexpr = 1)"))
    )
    assert any("X: tl.constexpr = 1, EVEN: tl.constexpr = False, B = 1)" in row for row in changed(program, found[0]))


def test_a_heuristic_above_the_kernel_is_none_of_its_statements(tmp_path):
    text = with_text(
        ("@triton.jit", '@triton.heuristics({"X": lambda args: args["M"] > 1})\n@triton.jit'),
        ("tl.constexpr):", "tl.constexpr, X: tl.constexpr):"),
    )
    assert len(moves("batched", tmp_path, MOVE, text=text)[1]) == 3


def test_what_a_branch_binds_for_itself_is_no_hindrance_and_what_it_leaves_is(tmp_path):
    branch = "    if K > 3:\n        more = pid_m * 2.0\n        acc += more\n    tl.store"
    assert moves("batched", tmp_path, MOVE, text=with_text(("    tl.store", branch)))[1] != []
    assert (
        moves("batched", tmp_path, MOVE, text=with_text(("    tl.store", branch.replace("    tl.store", "    acc += more\n    tl.store"))))[
            1
        ]
        == []
    )


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
        with_text(("    acc = tl", "    a_ptr += 1\n    acc = tl")),
        with_text(("        acc +=", "        b_ptr += K\n        acc +=")),
        with_text(("    acc = tl", "    count = tl.num_programs(K % 3)\n    acc = tl")),
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
        (GROUPED.replace("size = min(num_m - first, GROUP)", "GROUP = min(num_m - first, GROUP)").replace("size", "GROUP"), True),
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

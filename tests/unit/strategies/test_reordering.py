"""Each order: the edit that it makes, and the programs that it leaves alone."""

from __future__ import annotations

import difflib
import re

import attrs
import pytest

from tests.unit.strategies.order_samples import TEXTS, captured
from tests.unit.strategies.samples import H200, example, example_facts, made_by, program_of


def changed(program, proposal):
    path = program.kernel.place.path
    before, after = program.texts[path].splitlines(), proposal.patch.apply(program.texts)[path].splitlines()
    return [x for x in difflib.unified_diff(before, after, n=0, lineterm="") if not re.match(r"(---|\+\+\+) |@@", x)]


def moves(name, tmp_path, move, *, text=None, grid=None, **more):
    program = program_of(text or TEXTS[name], tmp_path, f"{name}.py")
    given = captured(name, program, **more)
    if grid is not None:
        given.cases[0]["launches"][0]["grid"] = grid
    return program, made_by(move, program, given)


# ---------------------------------------------------------------- swap_axes


def test_the_other_axis_runs_fastest_and_the_grid_stays(tmp_path):
    program, found = moves("batched", tmp_path, "swap_axes")
    assert changed(program, found[0]) == [
        "-    pid_m = tl.program_id(0)",
        "-    pid_n = tl.program_id(1)",
        "+    # Programs are numbered anew, in the order in which they start: along axis 1 first.",
        "+    started = tl.program_id(0) + tl.program_id(1).to(tl.int64) * tl.num_programs(0)",
        "+    pid_m = (started // tl.num_programs(1)).to(tl.int32)",
        "+    pid_n = (started % tl.num_programs(1)).to(tl.int32)",
    ]
    assert found[0].numerics == "exact"


def test_heads_that_share_a_table_run_together_on_the_third_axis(tmp_path):
    program, found = moves("rope_3d", tmp_path, "swap_axes")
    assert [p.key for p in found] == ["reordering.swap_axes()", "reordering.swap_axes(axis=2)"]
    assert changed(program, found[1]) == [
        "-    part, batch, head = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)",
        "+    # Programs are numbered anew, in the order in which they start: along axis 2 first.",
        "+    started = tl.program_id(0) + tl.program_id(2).to(tl.int64) * tl.num_programs(0)",
        "+    part, batch, head = (started // tl.num_programs(2)).to(tl.int32).to(tl.int64), tl.program_id(1), "
        "(started % tl.num_programs(2)).to(tl.int32)",
    ]


@pytest.mark.parametrize(("grid", "keys"), [([128, 4, 1], ["()"]), ([128, 1, 16], ["(axis=2)"]), ([2048, 1, 1], [])])
def test_an_axis_of_one_program_is_swapped_with_none(grid, keys, tmp_path):
    assert [p.key for p in moves("rope_3d", tmp_path, "swap_axes", grid=grid)[1]] == [f"reordering.swap_axes{k}" for k in keys]


def test_products_of_a_batch_share_nothing_on_the_third_axis(tmp_path):
    assert [p.key for p in moves("batched", tmp_path, "swap_axes")[1]] == ["reordering.swap_axes()"]


def test_no_size_of_a_grid_is_in_the_way(tmp_path):
    """The grid isn't touched, so that none of its sides can come to have more programs than an axis has room for."""
    program, found = moves("batched", tmp_path, "swap_axes", grid=[60000, 2, 2])
    assert [f.path for p in found for f in p.patch.files] == [program.kernel.place.path]
    assert not any("bmm_kernel[" in line for line in changed(program, found[0]))


def test_the_axes_are_swapped_once(tmp_path):
    program, found = moves("batched", tmp_path, "swap_axes")
    text = found[0].patch.apply(program.texts)[program.kernel.place.path]
    assert moves("batched", tmp_path, "swap_axes", text=text)[1] == []


def test_rows_and_columns_of_one_id_trade_places(tmp_path):
    program = example("matmul", tmp_path)
    found = made_by("swap_axes", program, example_facts("matmul", program))
    assert changed(program, found[0]) == [
        "-    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)",
        "-    pid_m = pid // num_pid_n",
        "-    pid_n = pid % num_pid_n",
        "+    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)",
        "+    pid_m = pid % num_pid_m",
        "+    pid_n = pid // num_pid_m",
    ]


def test_columns_that_are_read_elsewhere_stay_where_a_line_can_follow(tmp_path):
    text = example("matmul", tmp_path).texts[str((tmp_path / "matmul.py").resolve())]
    text = text.replace("    pid_n = pid % num_pid_n\n", "    pid_n = pid % num_pid_n\n    last = num_pid_n\n")
    for name, crowded, wanted in (("one", "", ["+    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)"]), ("two", "; seen = 0", [])):
        line = "    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)"
        program = program_of(text.replace(line, line + crowded), tmp_path, f"{name}.py")
        found = made_by("swap_axes", program, example_facts("matmul", program))
        assert [row for p in found for row in changed(program, p) if "cdiv" in row] == wanted


@pytest.mark.parametrize(
    ("name", "text", "grid"),
    [
        ("batched", None, [2, 2, 2]),  # all run at once
        ("rms_norm", None, None),  # one axis
        ("batched", TEXTS["batched"].replace("tl.program_id(1)", "tl.program_id(K % 2)"), None),
    ],
)
def test_swap_axes_leaves_alone_what_it_can_not_prove(name, text, grid, tmp_path):
    assert moves(name, tmp_path, "swap_axes", text=text, grid=grid)[1] == []


# ---------------------------------------------------------------- grouped_order


def test_a_batch_axis_stays_out_of_the_groups(tmp_path):
    program, found = moves("batched", tmp_path, "grouped_order")
    assert changed(program, found[0]) == ["+    pid_n, pid_m = tl.swizzle2d(pid_n, pid_m, tl.num_programs(1), tl.num_programs(0), 8)"]


@pytest.mark.parametrize("load", ["a_ptr + offs_m[:, None] * K", "b_ptr + (k + offs_k)[:, None] * N"])
def test_groups_need_an_operand_shared_along_each_axis(load, tmp_path):
    """Each program has its own part of one operand: of that, neighbours in a group share nothing."""
    assert TEXTS["batched"].count(load) == 1
    text = TEXTS["batched"].replace(load, f"{load} + pid_m * pid_n")
    assert moves("batched", tmp_path, "grouped_order", text=text)[1] == []


def test_heads_and_rows_of_attention_share_nothing_in_groups(tmp_path):
    assert moves("attention", tmp_path, "grouped_order")[1] == []


# ---------------------------------------------------------------- persistent_rows


def test_rows_in_a_loop_load_their_weights_once(tmp_path):
    program, found = moves("rms_norm", tmp_path, "persistent_rows")
    assert found[1].key == "reordering.persistent_rows(num_stages=2,per_multiprocessor=9)"
    assert found[1].numerics == "exact"
    after = found[1].patch.apply(program.texts)[program.kernel.place.path]
    assert (
        """\
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, stride, n_cols, eps, BLOCK: tl.constexpr, n_rows):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    # Weights are the same for every row.
    w = tl.load(w_ptr + cols, mask=mask)
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=2):
        x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        rms = tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
        tl.store(y_ptr + row * stride + cols, x / rms * w, mask=mask)
"""
        in after
    )
    assert "    # 132 multiprocessors (NVIDIA H200) run 9 of these programs each.\n" in after
    assert "rms_norm_kernel[(min(n_rows, 132 * 9),)](" in after
    assert "n_rows=n_rows)" in after


def test_as_many_programs_as_the_compiled_code_lets_run(tmp_path):
    program = program_of(TEXTS["rms_norm"], tmp_path, "rms_norm.py")
    kernel = {"module": "sample", "path": program.kernel.place.path, "qualname": program.kernel.place.qualname}
    facts = ({"kernel": kernel, "registers": 128, "spill_store_bytes": 0, "shared_bytes": 1024, "num_warps": 4},)
    _, found = moves("rms_norm", tmp_path, "persistent_rows", compiled=facts)
    assert {p.parameters["per_multiprocessor"] for p in found} == {4, 2}


def test_what_is_written_is_not_loaded_before_the_loop(tmp_path):
    text = TEXTS["rms_norm"].replace("x / rms * w, mask=mask)", "x / rms * w, mask=mask)\n    tl.store(w_ptr + cols, w, mask=mask)")
    program, found = moves("rms_norm", tmp_path, "persistent_rows", text=text)
    for p in found:
        assert "        w = tl.load(" in p.patch.apply(program.texts)[program.kernel.place.path]
        assert p.parameters["num_stages"] > 1  # else there is nothing that ``persistent`` does not do


@pytest.mark.parametrize(
    ("name", "text", "grid"),
    [
        ("rms_norm", None, [500, 1, 1]),  # one wave
        ("row_sum", None, None),  # nothing to load before, and a loop of its own
        ("scale_2d", None, None),  # two axes
        ("batched", None, None),
        (
            "rms_norm",
            TEXTS["rms_norm"].replace("    row = tl.program_id(0)\n", "    row = tl.program_id(0)\n    if row < 0:\n        return\n"),
            None,
        ),
    ],
)
def test_persistent_rows_is_for_many_rows(name, text, grid, tmp_path):
    assert moves(name, tmp_path, "persistent_rows", text=text, grid=grid)[1] == []


@pytest.mark.parametrize(
    ("grid", "wanted"),
    [
        ("(n_rows,)", True),
        ("(n_rows, 1)", True),
        ("(n_rows, 2)", False),
        ("(n_rows, n_cols)", False),
        ("grid_of(x)", False),  # nothing is known of its sides
        ('lambda meta: (meta["BLOCK"],)', False),  # the host can't say it outside of the grid's function
    ],
)
def test_tiles_in_a_loop_need_a_grid_of_one_side_that_the_host_can_say(grid, wanted, tmp_path):
    text = TEXTS["rms_norm"].replace("[(n_rows,)]", f"[{grid}]")
    for move in ("persistent", "persistent_rows"):
        assert bool(moves("rms_norm", tmp_path, move, text=text)[1]) == wanted


def test_a_name_from_the_tile_before_is_noticed_after_a_branch(tmp_path):
    """``last`` is read before an iteration binds it: in a loop it would come from the row before."""
    text = TEXTS["rms_norm"].replace(
        "    mask = cols < n_cols\n", "    mask = cols < n_cols\n    if eps > 0:\n        pass\n    eps2 = last\n    last = eps\n"
    )
    for move in ("persistent", "persistent_rows"):
        assert moves("rms_norm", tmp_path, move, text=text)[1] == []


# ---------------------------------------------------------------- contiguous_rows


def test_each_program_takes_neighbouring_tiles(tmp_path):
    program, found = moves("persistent_matmul", tmp_path, "contiguous_rows")
    assert changed(program, found[0]) == [
        "-    for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0)):",
        "+    tiles_each = tl.cdiv(num_tiles, tl.num_programs(0))",
        "+    first_tile = tl.program_id(0) * tiles_each",
        "+    for tile in tl.range(first_tile, tl.minimum(first_tile + tiles_each, num_tiles)):",
    ]


def test_names_for_the_id_and_the_number_of_programs_are_followed(tmp_path):
    loop = "    for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0)):"
    text = TEXTS["persistent_matmul"].replace(
        loop,
        "    start = tl.program_id(0)\n    step = tl.num_programs(0)\n    for tile in tl.range(start, num_tiles, step, flatten=True):",
    )
    program, found = moves("persistent_matmul", tmp_path, "contiguous_rows", text=text)
    assert "+    for tile in tl.range(first_tile, tl.minimum(first_tile + tiles_each, num_tiles), flatten=True):" in changed(
        program, found[0]
    )


@pytest.mark.parametrize(
    "text",
    [
        TEXTS["persistent_matmul"].replace("num_tiles, tl.num_programs(0)", "num_tiles, 3"),
        TEXTS["persistent_matmul"].replace("num_tiles, tl.num_programs(0)", "num_tiles, tl.num_programs(1)"),
        TEXTS["persistent_matmul"].replace("tl.range(tl.program_id(0),", "tl.range(0,"),
    ],
)
def test_contiguous_rows_needs_the_strided_loop(text, tmp_path):
    assert text != TEXTS["persistent_matmul"]
    assert moves("persistent_matmul", tmp_path, "contiguous_rows", text=text)[1] == []


def test_orders_need_a_device_that_is_full(tmp_path):
    """With more multiprocessors than programs, no order and no loop is proposed."""
    huge = attrs.evolve(H200, multiprocessors=10**6)
    for name in TEXTS:
        for move in ("heavy_first", "swap_axes", "persistent_rows", "persistent"):
            assert moves(name, tmp_path, move, device=huge)[1] == [], (name, move)

"""``by_size``: which sizes a host function has, what two programs differ in, and the choice between them as a reader would write it."""

from __future__ import annotations

import ast

import pytest

from kernelband.strategies import strategy
from kernelband.strategies.code import View
from kernelband.strategies.code.sizes import Size, sizes
from kernelband.strategies.tiling.by_size import Sides, by_size
from kernelband.strategies.tiling.parameters import Parameters
from tests.unit.strategies.order_samples import HEAD, TEXTS, captured
from tests.unit.strategies.samples import again, example, example_facts, facts, launch, program_of
from tests.unit.strategies.test_tiling import changed

KERNEL = (
    HEAD
    + """\
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, UNROLL: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


"""
)


def copier(tmp_path, host):
    """A program with that host function, and facts of one launch."""
    program = program_of(KERNEL + host, tmp_path)
    pointers = {p: ([5000], "float32") for p in ("x_ptr", "y_ptr")}
    return program, facts(launch(program, [5, 1, 1], {"BLOCK": 1024, "UNROLL": 2}, {"n": 5000}, pointers))


def edited(program, tmp_path, *replacements):
    path = program.kernel.place.path
    text = program.texts[path]
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return again(program, {path: text}, tmp_path)


def chosen(program, given, other, size="n", up_to=4096):
    """The choice written into ``program`` and, the other way round, into ``other``: the same code."""
    own, theirs = Parameters.read(program, given), Parameters.read(other, given)
    assert own is not None
    assert theirs is not None
    one = by_size(own, theirs, Sides(size, up_to, 3, 5), "exact", "Because.", small=True)
    two = by_size(theirs, own, Sides(size, up_to, 3, 5), "exact", "Because.", small=False)
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        path = program.kernel.place.path
        texts = one.patch.apply(program.texts)[path], two.patch.apply(other.texts)[path]
        assert ast.dump(ast.parse(texts[0])) == ast.dump(ast.parse(texts[1]))
        assert one.key == two.key
    return one


# ---------------------------------------------------------------- where people write blocks


def test_a_variable_of_the_host_function_is_chosen_where_it_was_set(tmp_path):
    program = example("layer_norm", tmp_path)
    given = example_facts("layer_norm", program)
    tile = next(p for p in strategy("tiling").propose(program, given) if p.parameters == {"BLOCK_SIZE": 4096, "num_warps": 16})
    found = chosen(program, given, again(program, tile.patch.apply(program.texts), tmp_path), "N")
    call = "    _layer_norm_fwd_kernel[(M,)](x_arg, y, weight, bias, x_arg.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE"
    assert changed(program, found) == [
        "-    BLOCK_SIZE = 1024",
        f"-{call})",
        "+    BLOCK_SIZE, num_warps = (1024, 4) if N <= 4096 else (4096, 16)",
        f"+{call}, num_warps=num_warps)",
    ]
    assert found.key == "tiling.by_size(large=5,size=N,small=3,up_to=4096)"
    assert found.what == "Chooses by N: BLOCK_SIZE 1024 and num_warps 4 up to 4096, BLOCK_SIZE 4096 and num_warps 16 above."
    assert (found.strategy, found.move, found.why) == ("tiling", "by_size", "Because.")


def test_a_lambda_grid_follows(tmp_path):
    program = example("vector_add", tmp_path)
    given = example_facts("vector_add", program)
    tile = next(p for p in strategy("tiling").propose(program, given) if p.parameters == {"BLOCK_SIZE": 512, "num_warps": 2})
    found = chosen(program, given, again(program, tile.patch.apply(program.texts), tmp_path), "n_elements", 2**23)
    assert changed(program, found)[1:] == [
        "+    BLOCK_SIZE, num_warps = (1024, 4) if n_elements <= 8388608 else (512, 2)",
        "+    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)",
    ]
    assert found.what.endswith(", with the grid.")


def test_the_copies_of_a_number_in_a_tuple_grid_become_the_variable(tmp_path):
    program = program_of(TEXTS["batched"], tmp_path)
    given = captured("batched", program)
    other = edited(
        program,
        tmp_path,
        ("cdiv(M, 32), triton.cdiv(N, 64)", "cdiv(M, 64), triton.cdiv(N, 128)"),
        ("BLOCK_M=32, BLOCK_N=64", "BLOCK_M=64, BLOCK_N=128"),
    )
    found = chosen(program, given, other, "M", 512)
    assert changed(program, found)[1:] == [
        "+    BLOCK_M, BLOCK_N = (32, 64) if M <= 512 else (64, 128)  # measured: each the faster on its side",
        "+    bmm_kernel[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N), B)]"
        "(a, b, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=32)",
    ]


@pytest.mark.parametrize("added", ["1024 - 1", "1023"])
def test_a_grid_in_a_statement_of_its_own_comes_after_the_choice(added, tmp_path):
    host = """\
def copy(x):
    n = x.numel()
    y = torch.empty_like(x)
    grid = ((n + 1024 - 1) // 1024,)
    with torch.cuda.device(x.device):
        copy_kernel[grid](x, y, n, BLOCK=1024, UNROLL=2)
    return y
"""
    program, given = copier(tmp_path, host.replace("1024 - 1", added))
    less = added.replace("1024", "256").replace("1023", "255")
    other = edited(program, tmp_path, (f"n + {added}) // 1024", f"n + {less}) // 256"), ("BLOCK=1024", "BLOCK=256"))
    found = chosen(program, given, other)
    after = found.patch.apply(program.texts)[program.kernel.place.path]
    assert (
        "    BLOCK = 1024 if n <= 4096 else 256  # measured: each the faster on its side\n"
        "    grid = ((n + BLOCK - 1) // BLOCK,)\n    with torch.cuda.device(x.device):\n"
        "        copy_kernel[grid](x, y, n, BLOCK=BLOCK, UNROLL=2)\n"
    ) in after


def test_constants_of_the_module_become_the_functions(tmp_path):
    program = program_of(TEXTS["scale_2d"], tmp_path)
    given = captured("scale_2d", program)
    other = edited(program, tmp_path, ("BLOCK_ROWS = 16", "BLOCK_ROWS = 4"), ("BLOCK_COLS = 64", "BLOCK_COLS = 256"))
    found = chosen(program, given, other, "cols")
    assert [line for line in changed(program, found) if line.strip("+-")] == [
        "-BLOCK_ROWS = 16",
        "-BLOCK_COLS = 64",
        "+    BLOCK_ROWS, BLOCK_COLS = (16, 64) if cols <= 4096 else (4, 256)",
    ]


def test_a_tuple_is_set_as_one_and_a_long_choice_is_an_if(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    path = program.kernel.place.path
    rows = ("BLOCK_SIZE_M = 64\n    BLOCK_SIZE_N = 64\n    BLOCK_SIZE_K = 32", "BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K = 64, 64, 32")
    program = edited(program, tmp_path, rows)
    found = chosen(program, given, edited(program, tmp_path, ("64, 64, 32", "128, 64, 32")), "M", 3072)
    assert changed(program, found)[1:] == [
        "+    BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K = (64, 64, 32) if M <= 3072 else (128, 64, 32)",
    ]
    wide = edited(
        program,
        tmp_path,
        ("64, 64, 32", "128, 256, 64"),
        ("BLOCK_SIZE_K=BLOCK_SIZE_K,\n", "BLOCK_SIZE_K=BLOCK_SIZE_K,\n        num_warps=8,\n"),
    )
    after = chosen(program, given, wide, "M", 3072).patch.apply(program.texts)[path]
    assert (
        "    if M <= 3072:  # measured: each the faster on its side\n"
        "        BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K, num_warps = 64, 64, 32, 4\n"
        "    else:\n"
        "        BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K, num_warps = 128, 256, 64, 8\n"
        "    grid = "
    ) in after


def test_several_assignments_become_one(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    other = edited(program, tmp_path, ("BLOCK_SIZE_M = 64", "BLOCK_SIZE_M = 128"), ("BLOCK_SIZE_K = 32", "BLOCK_SIZE_K = 64"))
    found = chosen(program, given, other, "M", 3072)
    assert changed(program, found) == [
        "-    BLOCK_SIZE_M = 64",
        "+    BLOCK_SIZE_M, BLOCK_SIZE_K = (64, 32) if M <= 3072 else (128, 64)",
        "-    BLOCK_SIZE_K = 32",
    ]


def test_warps_alone_and_those_in_a_variable(tmp_path):
    program = example("fused_softmax", tmp_path)
    given = example_facts("fused_softmax", program)
    other = edited(program, tmp_path, ("BLOCK_SIZE=BLOCK_SIZE,\n", "BLOCK_SIZE=BLOCK_SIZE,\n        num_warps=16,\n"))
    assert changed(program, chosen(program, given, other, "n_cols")) == [
        "+    num_warps = 4 if n_cols <= 4096 else 16  # measured: each the faster on its side",
        "+        num_warps=num_warps,",
    ]
    named = edited(
        program,
        tmp_path,
        ("    y = torch", "    warps = 8\n    y = torch"),
        ("BLOCK_SIZE=BLOCK_SIZE,\n", "BLOCK_SIZE=BLOCK_SIZE,\n        num_warps=warps,\n"),
    )
    found = chosen(named, given, edited(named, tmp_path, ("warps = 8", "warps = 16")), "n_cols")
    assert changed(named, found) == ["-    warps = 8", "+    warps = 8 if n_cols <= 4096 else 16  # measured: each the faster on its side"]


# ---------------------------------------------------------------- where it can't


PLAIN = """\
def copy(x):
    n = x.numel()
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, UNROLL=2)
    return y
"""
OTHER = (("cdiv(n, 1024)", "cdiv(n, 256)"), ("BLOCK=1024", "BLOCK=256"))


def test_a_name_that_is_taken_is_not_taken_again(tmp_path):
    program, given = copier(tmp_path, PLAIN.replace("y = torch", "BLOCK = x.device; y = torch"))
    assert (
        "    BLOCK_ = 1024 if n <= 4096 else 256  # measured: each the faster on its side\n"
        in chosen(program, given, edited(program, tmp_path, *OTHER)).patch.apply(program.texts)[program.kernel.place.path]
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tl.load(x_ptr + i, mask=i < n)", "tl.load(x_ptr + i, mask=i < n, other=0.0)"),  # another kernel
        ("torch.empty_like(x)", "torch.zeros_like(x)"),  # another host function
        ("UNROLL=2", "UNROLL=2, maxnreg=64"),  # an option that has no default to write
    ],
)
def test_programs_that_differ_in_more_have_no_choice(old, new, tmp_path):
    program, given = copier(tmp_path, PLAIN)
    assert chosen(program, given, edited(program, tmp_path, *OTHER)) is not None
    assert chosen(program, given, edited(program, tmp_path, *OTHER, (old, new))) is None
    assert chosen(program, given, program) is None  # and equal ones need none


@pytest.mark.parametrize(
    "host",
    [
        PLAIN.replace("    n = x.numel()\n", "").replace("    return y", "    n = x.numel()\n    return y"),  # the size comes too late
        PLAIN.replace("    n = x.numel()\n", "    if x.is_cuda:\n        n = x.numel()\n"),  # perhaps
        PLAIN.replace("def copy(x):", "def copy(x, BLOCK=1024):").replace("BLOCK=1024, U", "BLOCK=BLOCK, U").replace("n, 1024", "n, BLOCK"),
    ],
    ids=["late", "perhaps", "the caller's"],
)
def test_a_choice_needs_its_size_and_variables_of_its_own(host, tmp_path):
    program, given = copier(tmp_path, host)
    other = edited(program, tmp_path, ("1024", "256"))
    assert chosen(program, given, other) is None


@pytest.mark.parametrize(
    "host",
    [
        PLAIN.replace("UNROLL=2)", "UNROLL=2, **options)").replace("copy(x)", "copy(x, options)"),
        PLAIN + "\n\ndef again(x, y):\n    copy_kernel[(1,)](x, y, 16, BLOCK=16, UNROLL=2)\n",
    ],
    ids=["splat", "two launches"],
)
def test_launches_that_get_more_than_is_written_are_left_alone(host, tmp_path):
    program, given = copier(tmp_path, host)
    assert Parameters.read(program, given) is None


# ---------------------------------------------------------------- sizes


def found_sizes(tmp_path, host):
    program, given = copier(tmp_path, host)
    view = View.read(program, given)
    assert view is not None
    return {size.code for size in sizes(view, view.launches[0])}


@pytest.mark.parametrize(
    ("binding", "passed", "codes"),
    [
        ("n = x.numel()", "n", {"n"}),
        ("rows, n = x.shape", "n", {"n"}),
        ("rows, n = x.size()", "n", {"n"}),
        ("n = x.shape[0] * x.shape[1] // 2", "n", {"n"}),
        ("n = math.prod(x.shape[:-1])", "n", {"n"}),
        ("pass", "x.shape[-1]", {"x.shape[-1]"}),
        ("pass", "x.numel()", {"x.numel()"}),
        ("pass", "len(x)", {"len(x)"}),
        ("n = x.stride(0)", "n", set()),
        ("pass", "x.stride(0)", set()),
        ("pass", "x.data_ptr()", set()),
        ("n = int(x.max().item())", "n", set()),
        ("n = x[0]", "n", set()),
        ("n = lengths.max()", "n", set()),
        ("n = x.numel()\n    n = min(n, int(x.max()))", "n", set()),
        ("n = 4096", "n", set()),
        ("for n in x.shape: pass", "n", set()),
        ("*n, last = x.shape", "n", set()),
    ],
)
def test_sizes_come_from_shapes_alone(binding, passed, codes, tmp_path):
    host = f"def copy(x, y):\n    {binding}\n    copy_kernel[(5, 1)](x, y, {passed}, BLOCK=1024, UNROLL=2)\n"
    assert found_sizes(tmp_path, host) == codes


def test_a_callers_number_is_a_size_where_the_kernels_indices_end_at_it(tmp_path):
    host = "def copy(x, y, n):\n    copy_kernel[(5,)](x, y, n, BLOCK=1024, UNROLL=2)\n"
    assert found_sizes(tmp_path, host) == {"n"}
    assert found_sizes(tmp_path, host.replace("    copy_k", "    n = n // int(x.max())\n    copy_k")) == set()
    program = program_of(TEXTS["attention"], tmp_path, "attention.py")
    view = View.read(program, captured("attention", program))
    assert [s.code for s in sizes(view, view.launches[0])] == ["n_ctx", "dim", "heads"]  # strides and the scale are none
    program = program_of(TEXTS["rope"], tmp_path, "rope.py")
    view = View.read(program, captured("rope", program))
    assert "flip" not in {s.code for s in sizes(view, view.launches[0])}


def spec(grid=(7, 2, 1), scalars=None, constants=None):
    return {"grid": list(grid), "scalars": scalars or {}, "constants": constants or {}}


def test_a_launch_shows_the_value_of_a_size():
    assert Size("n", parameter="n").of([spec(scalars={"n": 5}), spec(scalars={"n": 5})]) == 5
    assert Size("n", parameter="n").of([spec(constants={"n": 1})]) == 1  # Triton makes a constant of it
    assert Size("rows", axis=1).of([spec()]) == 2
    assert Size("n", parameter="n").of([spec(scalars={"n": 5}), spec(scalars={"n": 6})]) is None
    assert Size("n", parameter="n").of([spec(scalars={"n": True})]) is None
    assert Size("n", parameter="n").of([spec(scalars={"n": 0.5})]) is None
    assert Size("n", parameter="n").of([]) is None

"""``by_size`` with two kernels: what stays common, what stands under the condition, and where there is no place for one."""

from __future__ import annotations

import pytest

from kernelband.strategies import STRATEGIES
from kernelband.strategies.tiling.by_size import Sides
from kernelband.strategies.tiling.two_ways import two_ways
from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.samples import again, example, example_facts, program_of
from tests.unit.strategies.test_by_size import PLAIN, copier, edited
from tests.unit.strategies.test_tiling import changed

OTHER_KERNEL = ("tl.load(x_ptr + i, mask=i < n)", "tl.load(x_ptr + i, mask=i < n, other=0.0)")


def chosen(program, given, other, size="n", *, small=True, sides=(3, 5)):
    return two_ways((program, other), (given, given), Sides(size, 4096, *sides), "exact", "Because.", small=small)


def text(program, proposal):
    return proposal.patch.apply(program.texts)[program.kernel.place.path]


def test_the_second_kernel_comes_after_the_first_and_the_launches_under_a_condition(tmp_path):
    program, given = copier(tmp_path, PLAIN)
    other = edited(program, tmp_path, OTHER_KERNEL, ("cdiv(n, 1024)", "cdiv(n, 256)"), ("BLOCK=1024", "BLOCK=256"))
    found = chosen(program, given, other)
    assert changed(program, found) == [
        "+@triton.jit",
        "+def copy_kernel_large(x_ptr, y_ptr, n, BLOCK: tl.constexpr, UNROLL: tl.constexpr):",
        "+    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "+    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)",
        "+",
        "+",
        "-    copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, UNROLL=2)",
        "+    if n <= 4096:  # measured: each the faster on its side",
        "+        copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, UNROLL=2)",
        "+    else:",
        "+        copy_kernel_large[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256, UNROLL=2)",
    ]
    assert found.key == "tiling.by_size(large=5,size=n,small=3,up_to=4096)"
    assert "copy_kernel as variant 3 launches it up to 4096, copy_kernel_large as variant 5" in found.what
    after = text(program, found)
    assert after.count("@triton.jit") == 2
    assert f"{HEAD}@triton.jit\ndef copy_kernel(" in after


def test_the_edited_program_may_be_the_one_for_large_sizes(tmp_path):
    program, given = copier(tmp_path, PLAIN)
    found = chosen(program, given, edited(program, tmp_path, OTHER_KERNEL), small=False, sides=(0, 5))
    assert (
        "    if n <= 4096:  # measured: each the faster on its side\n"
        "        copy_kernel_small[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, UNROLL=2)\n"
        "    else:\n        copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, UNROLL=2)\n    return y\n"
    ) in text(program, found)
    assert "copy_kernel_small as the original launches it" in found.what


def test_one_kernel_stays_one_where_only_the_host_function_differs(tmp_path):
    program, given = copier(tmp_path, PLAIN)
    other = edited(program, tmp_path, ("    y = torch.empty_like(x)\n", "    # filled\n    y = torch.zeros_like(x)  # twice\n"))
    assert (
        "    n = x.numel()\n    if n <= 4096:  # measured: each the faster on its side\n"
        "        y = torch.empty_like(x)\n        copy_kernel[(triton.cdiv(n, 1024),)]"
        "(x, y, n, BLOCK=1024, UNROLL=2)\n    else:\n        y = torch.zeros_like(x)  # twice\n        copy_kernel["
    ) in text(program, chosen(program, given, other))
    assert chosen(program, given, program) is None


def test_the_statement_around_a_launch_goes_along(tmp_path):
    host = PLAIN.replace("    copy_kernel[", "    with torch.cuda.device(x.device):\n        copy_kernel[")
    program, given = copier(tmp_path, host)
    after = text(program, chosen(program, given, edited(program, tmp_path, OTHER_KERNEL)))
    assert after.count("        with torch.cuda.device(x.device):\n            copy_kernel") == 2


def test_a_name_that_is_taken_is_not_taken_again(tmp_path):
    program, given = copier(tmp_path, PLAIN + "\n\ncopy_kernel_large = None\n")
    assert "def copy_kernel_large_(" in text(program, chosen(program, given, edited(program, tmp_path, OTHER_KERNEL)))


@pytest.mark.parametrize(
    "more",
    [
        ("import torch\n", "import torch\nimport math\n"),
        ("def copy(x):", "def copy(x, y=None):"),
        ("copy_kernel", "copying_kernel"),
    ],
)
def test_programs_that_differ_elsewhere_have_no_choice(more, tmp_path):
    program, given = copier(tmp_path, PLAIN)
    other = edited(program, tmp_path, OTHER_KERNEL)
    assert chosen(program, given, other) is not None
    path = program.kernel.place.path
    (tmp_path / "more").mkdir()
    assert chosen(program, given, program_of(other.texts[path].replace(*more), tmp_path / "more")) is None


def test_a_size_that_is_set_in_what_differs_is_not_known_before(tmp_path):
    host = PLAIN.replace("    n = x.numel()\n", "    n = x.shape[0]\n    n = x.numel()\n")
    program, given = copier(tmp_path, host)
    assert chosen(program, given, edited(program, tmp_path, OTHER_KERNEL)) is not None
    assert chosen(program, given, edited(program, tmp_path, OTHER_KERNEL, ("n = x.shape[0]", "n = len(x)"))) is None


def test_host_functions_may_differ_to_their_end(tmp_path):
    program, given = copier(tmp_path, PLAIN)
    found = chosen(program, given, edited(program, tmp_path, OTHER_KERNEL, ("    return y", "    done = y\n    return done")))
    assert text(program, found).endswith("UNROLL=2)\n        done = y\n        return done\n")


def test_a_string_of_several_lines_is_not_moved(tmp_path):
    program, given = copier(tmp_path, PLAIN.replace("    y = torch.empty_like(x)", '    y = torch.empty_like(x); s = """a\n  b"""'))
    assert chosen(program, given, edited(program, tmp_path, OTHER_KERNEL)) is not None  # it comes before
    assert chosen(program, given, edited(program, tmp_path, OTHER_KERNEL, ("\n  b", "\n  c"))) is None


def test_variables_that_only_one_way_sets_must_not_be_read_after(tmp_path):
    program, given = copier(tmp_path, PLAIN.replace("return y", "return y if y is not None else n"))
    ok = edited(program, tmp_path, OTHER_KERNEL, ("    copy_kernel[", "    m = n\n    copy_kernel["))
    assert chosen(program, given, ok) is not None
    bad = edited(program, tmp_path, OTHER_KERNEL, ("    copy_kernel[", "    y = y.view(-1)\n    copy_kernel["))
    assert chosen(program, given, bad) is None


@pytest.mark.parametrize("name", ["fused_softmax", "layer_norm", "matmul", "column_sum"])
def test_structural_moves_of_the_examples_can_be_chosen_between(name, tmp_path):
    program = example(name, tmp_path)
    given = example_facts(name, program)
    size = {"fused_softmax": "n_cols", "layer_norm": "N"}.get(name, "M")
    made = {}
    for move in (m for s in STRATEGIES[1:] for m in s.moves):
        for proposal in [p for p in move.propose(program, given) if p.numerics in given.allowed][:1]:
            made[move.name] = chosen(program, given, again(program, proposal.patch.apply(program.texts), tmp_path), size)
    assert len(made) >= 4
    assert all(made.values()), [m for m, found in made.items() if found is None]

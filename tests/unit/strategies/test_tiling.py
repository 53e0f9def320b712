"""``tiles`` where people write blocks: which ones it finds, and what it tries first."""

from __future__ import annotations

import ast
import difflib
import re
from types import SimpleNamespace

import attrs
import pytest

from kernelband.strategies import strategy
from kernelband.strategies.tiling import space
from kernelband.strategies.tiling.space import Programs, blocks_and_warps
from tests.unit.strategies.order_samples import TEXTS, captured
from tests.unit.strategies.samples import H200, facts, launch, made_by, program_of


def proposals(name, tmp_path, *, text=None, move="tiles", **more):
    program = program_of(text or TEXTS[name], tmp_path, f"{name}.py")
    found = made_by(move, program, captured(name, program, **more))
    return program, found


def changed(program, proposal):
    path = program.kernel.place.path
    before, after = program.texts[path].splitlines(), proposal.patch.apply(program.texts)[path].splitlines()
    return [x for x in difflib.unified_diff(before, after, n=0, lineterm="") if not re.match(r"(---|\+\+\+) |@@", x)]


@pytest.mark.parametrize("name", TEXTS)
def test_every_kernel_gets_tiles_that_parse(name, tmp_path):
    program, found = proposals(name, tmp_path)
    assert len(found) >= 2
    for p in found:
        ast.parse(p.patch.apply(program.texts)[program.kernel.place.path])
        assert p.what.endswith(".")
        assert p.why.endswith(".")


def test_attention_starts_with_what_an_expert_would_try(tmp_path):
    _, found = proposals("attention", tmp_path)
    first = [(p.parameters["BLOCK_M"], p.parameters["BLOCK_N"], p.parameters["num_warps"]) for p in found[:6]]
    assert {(128, 64, 4), (128, 128, 8)} <= set(first), first
    assert {p.parameters["num_stages"] for p in found} == {2, 3, 4}
    assert all(m >= 64 for m, _, _ in first)


def test_attention_with_a_wide_head_takes_eight_warps(tmp_path):
    text = TEXTS["attention"]
    program = program_of(text, tmp_path, "wide.py")
    given = captured("attention", program)
    launch = given.cases[0]["launches"][0]
    launch["constants"]["HEAD_DIM"] = 128
    first = made_by("tiles", program, given)[0]
    assert first.parameters["BLOCK_M"] == 128
    assert first.parameters["num_warps"] == 8


def test_a_number_that_two_blocks_share_is_told_apart_by_the_size_it_divides(tmp_path):
    program, found = proposals("batched", tmp_path)
    picked = next(p for p in found if p.parameters["BLOCK_M"] == 128 and p.parameters["BLOCK_N"] == 128 and p.parameters["BLOCK_K"] == 64)
    after = "\n".join(changed(program, picked))
    assert "bmm_kernel[(triton.cdiv(M, 128), triton.cdiv(N, 128), B)]" in after.splitlines()[-1]
    assert "BLOCK_M=128, BLOCK_N=128, BLOCK_K=64" in after


def test_a_number_that_two_blocks_share_is_told_apart_by_the_axis_of_the_grid(tmp_path):
    # A square product: M, N and K are one value, so that by size the grid's 32 may be any of them.
    text = TEXTS["batched"].replace("a, b, c, M, N, K,", "a, b, c, M, M, M,").replace("triton.cdiv(N, 64)", "triton.cdiv(M, 64)")
    program, found = proposals("batched", tmp_path, text=text)
    picked = next(p for p in found if p.parameters["BLOCK_M"] == 128 and p.parameters["BLOCK_N"] == 128 and p.parameters["BLOCK_K"] == 64)
    assert "(triton.cdiv(M, 128), triton.cdiv(M, 128), B)" in changed(program, picked)[-1]
    # Where the programs along that axis are those of both, it is nobody's.
    text = text.replace("tl.program_id(0)", "(tl.program_id(0) + tl.program_id(1))")
    _, found = proposals("batched", tmp_path, text=text)
    assert not any(p.parameters.get("BLOCK_M", 32) != 32 or p.parameters.get("BLOCK_K", 32) != 32 for p in found)


def test_blocks_of_a_module_change_there(tmp_path):
    program, found = proposals("scale_2d", tmp_path)
    picked = next(p for p in found if p.parameters["BLOCK_R"] == 8 and p.parameters["BLOCK_C"] == 128)
    assert changed(program, picked)[:4] == ["-BLOCK_ROWS = 16", "-BLOCK_COLS = 64", "+BLOCK_ROWS = 8", "+BLOCK_COLS = 128"]


def test_a_persistent_kernel_is_judged_by_its_tiles_not_its_programs(tmp_path):
    _, found = proposals("persistent_matmul", tmp_path)
    assert found[0].parameters["BLOCK_M"] * found[0].parameters["BLOCK_N"] >= 128 * 128
    assert set(found[0].parameters) >= {"BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"}


def test_warps_in_a_host_variable_change_there(tmp_path):
    text = (
        TEXTS["row_sum"]
        .replace("    row_sum_kernel[", "    num_warps = 4\n    row_sum_kernel[")
        .replace("=256)", "=256, num_warps=num_warps)")
    )
    program, found = proposals("row_sum", tmp_path, text=text)
    picked = next(p for p in found if p.parameters == {"BLOCK": 2048, "num_warps": 8})
    assert "+    num_warps = 8" in changed(program, picked)
    assert "num_warps=num_warps" in changed(program, picked)[-1]


def test_an_autotune_list_changes_in_the_configuration_that_was_chosen(tmp_path):
    decorated = (
        TEXTS["row_sum"]
        .replace(
            "@triton.jit",
            "@triton.autotune(\n"
            '    configs=[triton.Config({"BLOCK": 256}, num_warps=4), triton.Config({"BLOCK": 512}, num_warps=4)],\n'
            '    key=["n_cols"],\n)\n'
            "@triton.jit",
        )
        .replace(", BLOCK=256)", ")")
    )
    program, found = proposals("row_sum", tmp_path, text=decorated)
    assert found
    assert all(any('triton.Config({"BLOCK"' in line for line in changed(program, p)) for p in found)


#: Lists that are made, and what stands there when one more was added.
MADE = {
    '[triton.Config({"BLOCK": b}, num_warps=w) for b in (256, 512) for w in (2, 4)]': "for b in (256, 512) for w in (2, 4)] + [{}],",
    "get_configs()": "configs=[*get_configs(), {}],",
    "tuple(get_configs())": "configs=[*tuple(get_configs()), {}],",
    '(triton.Config({"BLOCK": n}), more)': 'configs=[*((triton.Config({"BLOCK": n}), more)), {}],',
    "SETTINGS.configs": "configs=[*SETTINGS.configs, {}],",
    "CONFIGS if FAST else get_configs()": "configs=[*(CONFIGS if FAST else get_configs()), {}],",
    'more() + [(triton.Config({"BLOCK": 64}, num_warps=n))]': 'more() + [(triton.Config({"BLOCK": 64}, num_warps=n))] + [{}],',
}


def autotuned(made, **config):
    """``row_sum`` with that list, and facts of launches with the configuration of choice."""
    text = (
        TEXTS["row_sum"]
        .replace("@triton.jit", f'@triton.autotune(\n    configs={made},\n    key=["n_cols"],\n)\n@triton.jit')
        .replace(", BLOCK=256)", ")")
    )

    def propose(tmp_path):
        program = program_of(text, tmp_path, "row_sum.py")
        given = captured("row_sum", program)
        for case in given.cases:
            for launched in case["launches"]:
                launched["config"] = {"BLOCK": 256, "num_warps": 4, "num_ctas": 1, "num_stages": 3, **config}
        return program, made_by("tiles", program, given)

    return propose


@pytest.mark.parametrize("made", MADE)
def test_a_list_that_is_made_gets_one_more(made, tmp_path):
    program, found = autotuned(made)(tmp_path)
    wanted = MADE[made].replace("{}]", 'triton.Config({"BLOCK": 2048}, num_warps=8, num_stages=3)]')
    assert any(wanted in "\n".join(changed(program, p)) for p in found), changed(program, found[0])
    for p in found:
        text = p.patch.apply(program.texts)[program.kernel.place.path]
        ast.parse(text)
        assert len(changed(program, p)) == 2
        assert p.parameters["config"] == "+"


def test_what_a_comprehension_has_already_is_not_added(tmp_path):
    listed = '[triton.Config({"BLOCK": b, "EVEN": True}, num_warps=w) for b in (2048, 4096) for w in [4, 8]]'
    _, found = autotuned(listed, EVEN=True)(tmp_path)
    _, all_of_them = autotuned("get_configs()", EVEN=True)(tmp_path)
    tiles = {(p.parameters["BLOCK"], p.parameters["num_warps"]) for p in found}
    assert {(p.parameters["BLOCK"], p.parameters["num_warps"]) for p in all_of_them} - tiles == {(2048, 4), (2048, 8), (4096, 4), (4096, 8)}


@pytest.mark.parametrize(
    "replaced",
    [
        ("configs=get_configs()", "configs=None"),
        ("@triton.jit", "@project.tune(configs=more())\n@triton.jit"),  # which one is the tuner's?
        ("import triton\n", "import triton as tr\n"),
    ],
)
def test_a_list_that_cannot_be_added_to_stays(replaced, tmp_path):
    program, found = autotuned("get_configs()")(tmp_path)
    assert found
    text = program.texts[program.kernel.place.path]
    assert replaced[0] in text
    edited = program_of(text.replace(*replaced), tmp_path, "other.py")
    given = captured("row_sum", edited)
    for launched in (x for case in given.cases for x in case["launches"]):
        launched["config"] = {"BLOCK": 256, "num_warps": 4, "num_stages": 3}
    assert not made_by("tiles", edited, given)


def test_a_list_that_is_made_stays_where_nobody_knows_the_choice(tmp_path):
    program, _ = autotuned("get_configs()")(tmp_path)
    assert not made_by("tiles", program, captured("row_sum", program))


def test_what_was_added_is_not_added_again(tmp_path):
    program, found = autotuned("get_configs()")(tmp_path)
    text = found[0].patch.apply(program.texts)[program.kernel.place.path]
    again = program_of(text, tmp_path, "again.py")
    given = captured("row_sum", again)
    for launched in (x for case in given.cases for x in case["launches"]):
        launched["config"] = {"BLOCK": 256, "num_warps": 4, "num_ctas": 1, "num_stages": 3}
    more = made_by("tiles", again, given)
    assert [p.parameters for p in more] == [p.parameters for p in found[1:]]
    assert all(p.patch.apply(again.texts)[again.kernel.place.path].count("triton.Config(") == 2 for p in more), (
        "what was added before is still there"
    )


@pytest.mark.parametrize(
    ("text", "edited"), [("get_configs()", False), ('[triton.Config({"BLOCK": 256}, num_warps=4, pre_hook=zero)]', True)]
)
def test_a_hook_is_no_choice_s_to_lose(text, edited, tmp_path):
    program, found = autotuned(text, pre_hook=True)(tmp_path)
    assert bool(found) == edited
    assert all("pre_hook=zero" in changed(program, p)[-1] for p in found)


@pytest.mark.parametrize("constant", ["torch.float16", [1, 2]])
def test_what_is_only_described_is_not_written(constant, tmp_path):
    _, found = autotuned("get_configs()", ACC=constant)(tmp_path)
    assert not found


def test_what_the_choice_says_besides_is_kept(tmp_path):
    program, found = autotuned("get_configs()", num_ctas=2, EVEN=True)(tmp_path)
    assert all('"EVEN": True' in changed(program, p)[-1] and "num_ctas=2" in changed(program, p)[-1] for p in found)
    _, capped = autotuned("get_configs()", maxnreg=64)(tmp_path)
    assert not capped


def test_few_waves_prefer_a_full_last_one():
    """132 multiprocessors take 132 programs of 128 rows at once; with one more, all wait for it, and smaller tiles come first."""
    fits = space.Attention("M", "N", 64, 64, (264,), 2, 2)
    assert next(iter(space.attentions(fits, H200))).blocks["M"] == 128
    assert next(iter(space.attentions(attrs.evolve(fits, programs=(266,)), H200))).blocks["M"] < 128


DECODE = """\
import torch, triton
import triton.language as tl

@triton.jit
def decode_kernel(q_ptr, k_ptr, o_ptr, n, D: tl.constexpr, BLOCK_N: tl.constexpr):
    d = tl.arange(0, D)
    q = tl.load(q_ptr + tl.program_id(0) * D + d)
    acc = 0.0
    for start in range(0, n, BLOCK_N):
        rows = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
        acc += tl.sum(tl.sum(k * q[None, :], axis=1), axis=0)
    tl.store(o_ptr + tl.program_id(0), acc)

def decode(q, k):
    out = torch.empty(q.shape[0], device=q.device)
    decode_kernel[(q.shape[0],)](q, k, out, k.shape[0], D=q.shape[1], BLOCK_N=32)
    return out
"""


def test_a_block_with_a_fixed_side_counts_the_whole_rectangle(tmp_path):
    """512 rows of 128 elements are 512 registers a thread: a compiler works on that for minutes."""
    program = program_of(DECODE, tmp_path)
    tensors = {"q_ptr": ([64, 128], "float32"), "k_ptr": ([4096, 128], "float32")}
    given = facts(launch(program, [64, 1, 1], {"D": 128, "BLOCK_N": 32}, {"n": 4096}, tensors))
    found = made_by("tiles", program, given)
    sizes = {p.parameters.get("BLOCK_N", 32) for p in found}
    assert max(sizes) <= 64
    assert min(sizes) <= 8
    assert not made_by("one_block", program, given)


CEILING = SimpleNamespace(cdiv=lambda a, b: -(-a // b))


@pytest.mark.parametrize("rounded", ["(n + 255) // 256", "(255 + n) // 256", "(n + 256 - 1) // 256", "triton.cdiv(n, 256)"])
def test_a_grid_that_rounds_up_in_numbers_still_does(rounded, tmp_path):
    text = f"""\
import torch, triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)

def host(x):
    y, n = torch.empty_like(x), x.numel()
    double[({rounded},)](x, y, n, BLOCK=256)
    return y
"""
    program = program_of(text, tmp_path)
    given = facts(launch(program, [4000, 1, 1], {"BLOCK": 256}, {"n": 1024000}, {"x_ptr": ([1024000], "float32")}))
    found = [p for p in strategy("tiling").propose(program, given) if p.move == "tiles" and "BLOCK" in p.parameters]
    assert found
    for p in found:
        block = p.parameters["BLOCK"]
        (line,) = [x for x in changed(program, p) if x.startswith("+")]
        grid = line.partition("double[(")[2].partition(",)]")[0]
        for n in (1, block - 1, block, block + 1, 10 * block + 7):
            assert eval(grid, {"n": n, "triton": CEILING}) == -(-n // block)


def test_few_programs_that_each_walk_far_get_blocks_that_keep_memory_busy():
    """Four programs for each multiprocessor with 256 elements of a warp each leave memory idle; of many programs any will do."""
    few, many = (blocks_and_warps({"BLOCK": 32768}, Programs([count], frozenset()), 4, H200) for count in (512, 16384))
    assert [(t.blocks["BLOCK"], t.num_warps) for t in few][:2] == [(2048, 8), (4096, 16)]
    assert (many[0].blocks["BLOCK"], many[0].num_warps) == (1024, 4)


def test_a_grid_that_follows_the_block_has_as_much_on_its_way_with_any():
    order = [
        [t.blocks["BLOCK"] for t in blocks_and_warps({"BLOCK": 1024}, Programs([n], frozenset({"BLOCK"})), 4, H200)] for n in (16, 4096)
    ]
    assert order[0][:4] == order[1][:4]

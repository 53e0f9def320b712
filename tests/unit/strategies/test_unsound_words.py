"""Programs in which a word means something else than it seems to, and moves were once offered for it: seen by another pair of eyes.

Each is offered the move as it stands, and not with the change.
"""

from __future__ import annotations

import pytest

from tests.unit.strategies.access_samples import BATCHED, batched_facts
from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.samples import facts, launch, made_by, program_of

ROWS = (
    HEAD
    + """\
@triton.jit
def kernel(x_ptr, s_ptr, y_ptr, stride_x, stride_s, N, OUT, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + c, mask=c < N, other=0.0)
    s = 2.0
    tl.store(y_ptr + row * stride_x + c, x * s, mask=c < N)


def host(x, s, out):
    M, N = x.shape
    y = torch.empty_like(x)
    kernel[(M,)](x, s, y, x.stride(0), s.stride(0), N, out, BLOCK=triton.next_power_of_2(N))
    return y
"""
)
WALK = (
    HEAD
    + """\
@triton.jit
def kernel(a_ptr, b_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    for off in range(0, N, BLOCK):
        c = off + tl.arange(0, BLOCK)
        x = tl.load(a_ptr + row * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(m, tl.max(x, axis=0))
    s = 0.0
    for off in range(0, N, BLOCK):
        c = off + tl.arange(0, BLOCK)
        x = tl.load(a_ptr + row * N + c, mask=c < N, other=-float("inf"))
        s += tl.sum(tl.exp(x - m), axis=0)
    tl.store(y_ptr + row, s)


def host(a, b):
    M, N = a.shape
    y = torch.empty((M,), device=a.device)
    kernel[(M,)](a, b, y, N, BLOCK=256)
    return y
"""
)
EACH = (
    HEAD
    + """\
@triton.jit
def kernel(x_ptr, y_ptr, N, bins, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < N, other=0.0)
    q = x / bins
    r = q + 1.0
    tl.store(y_ptr + c, r, mask=c < N)


def host(x, bins):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), bins, BLOCK=1024)
    return y
"""
)
GROUPS = (
    HEAD
    + """\
@triton.jit
def kernel(x_ptr, w_ptr, y_ptr, M, D, BLOCK: tl.constexpr):
    g = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    for i in range(0, M):
        w = tl.load(w_ptr + g * D + c, mask=c < D, other=0.0)
        x = tl.load(x_ptr + (g * M + i) * D + c, mask=c < D, other=0.0)
        tl.store(y_ptr + (g * M + i) * D + c, x * w, mask=c < D)


def host(x, w, M):
    y = torch.empty_like(x)
    kernel[(w.shape[0],)](x, w, y, M, w.shape[1], BLOCK=1024)
    return y
"""
)
SOFTMAX = (
    HEAD
    + """\
@triton.jit
def kernel(x_ptr, k_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    own = c < N
    keep = c < N // 2
    other = tl.load(k_ptr + c, mask=keep, other=0.0)
    x = tl.load(x_ptr + row * N + c, mask=own, other=-float("inf"))
    m = tl.max(x, axis=0)
    e = tl.exp(x - m)
    total = tl.sum(tl.where(own, tl.exp(x - m), 0.0), axis=0)
    tl.store(y_ptr + row * N + c, e / total + other, mask=own)


def host(x, k):
    M, N = x.shape
    y = torch.empty_like(x)
    kernel[(M,)](x, k, y, N, BLOCK=triton.next_power_of_2(N))
    return y
"""
)
EVEN = (
    HEAD
    + """\
@triton.heuristics({"EVEN": lambda args: args["N"] % args["BLOCK"] == 0})
@triton.jit
def kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (c < N) | EVEN
    tl.store(y_ptr + c, tl.load(x_ptr + c, mask=mask) * 2.0, mask=mask)


def host(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""
)


#: Text, grid, constants, scalars and tensors.
SAMPLES = {
    "rows": (
        ROWS,
        [4096, 1, 1],
        {"BLOCK": 16384},
        {"N": 16384, "OUT": 64, "stride_x": 16384, "stride_s": 1},
        {"x_ptr": ([4096, 16384], "float32"), "s_ptr": ([4096], "float32"), "y_ptr": ([4096, 16384], "float32")},
    ),
    "walk": (
        WALK,
        [4096, 1, 1],
        {"BLOCK": 256},
        {"N": 8192},
        {"a_ptr": ([4096, 8192], "float32"), "b_ptr": ([4096, 8192], "float32"), "y_ptr": ([4096], "float32")},
    ),
    "each": (
        EACH,
        [4096, 1, 1],
        {"BLOCK": 1024},
        {"N": 2**22, "bins": 41},
        {"x_ptr": ([2**22], "float32"), "y_ptr": ([2**22], "float32")},
    ),
    "groups": (
        GROUPS,
        [512, 1, 1],
        {"BLOCK": 1024},
        {"M": 64, "D": 1000},
        {"x_ptr": ([512 * 64, 1000], "float32"), "w_ptr": ([512, 1000], "float32"), "y_ptr": ([512 * 64, 1000], "float32")},
    ),
    "softmax": (
        SOFTMAX,
        [4096, 1, 1],
        {"BLOCK": 1024},
        {"N": 1000},
        {"x_ptr": ([4096, 1000], "float32"), "k_ptr": ([500], "float32"), "y_ptr": ([4096, 1000], "float32")},
    ),
    "even": (
        EVEN,
        [16384, 1, 1],
        {"BLOCK": 256, "EVEN": True},
        {"N": 2**22},
        {"x_ptr": ([2**22], "float32"), "y_ptr": ([2**22], "float32")},
    ),
}
SECOND = """        x = tl.load(a_ptr + row * N + c, mask=c < N, other=-float("inf"))
        s +="""
CHANGES = {
    "another tensor of that name": ("online_softmax", "walk", [], [(SECOND, SECOND.replace("a_ptr", "b_ptr"))]),
    "a selection without the largest": (
        "online_softmax",
        "walk",
        [("tl.sum(tl.exp(x - m), axis=0)", "tl.sum(tl.where(c < N, tl.exp(x - m), 0.0), axis=0)")],
        [("tl.where(c < N, tl", "tl.where(c % 2 == 1, tl")],
    ),
    "a quotient that is rounded later": ("reciprocal", "each", [], [("r = q + 1.0", "r = tl.floor(q)")]),
    "a quotient that becomes an integer": ("reciprocal", "each", [], [("r = q + 1.0", "r = q.to(tl.int32)")]),
    "a quotient that is compared": ("reciprocal", "each", [], [("r = q + 1.0", "p = q * 2.0\n    r = tl.where(p >= 1.0, q, 0.0)")]),
    "a quotient that is taken apart": ("reciprocal", "each", [], [("r = q + 1.0", "r = q % 1.0")]),
    "groups of which some have no turns": ("hoisted_loads", "groups", [], [("range(0, M)", "range(g * 8, min(g * 8 + 8, M))")]),
    "the mask of another load": ("reciprocal", "softmax", [], [("tl.where(own, tl.exp", "tl.where(keep, tl.exp")]),
}


def offered(move, name, changes, tmp_path):
    text, *given = SAMPLES[name]
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    program = program_of(text, tmp_path)
    return program, made_by(move, program, facts(launch(program, *given)))


@pytest.mark.parametrize("why", CHANGES)
def test_it_is_not_offered(why, tmp_path):
    move, name, sound, unsound = CHANGES[why]
    assert offered(move, name, sound, tmp_path)[1] != []
    assert offered(move, name, [*sound, *unsound], tmp_path)[1] == []


def test_a_scalar_may_be_as_far_away_as_an_element(tmp_path):
    change = [("program_id(0)", "program_id(0).to(tl.int64)"), ("s = 2.0", "s = tl.load(s_ptr + row * stride_s)")]
    program, found = offered("int32_offsets", "rows", change, tmp_path)
    assert 'args["s_ptr"]' in found[0].patch.apply(program.texts)[program.kernel.place.path]


def test_half_of_what_is_below_zero_is_another_number_in_python(tmp_path):
    made = {}
    for code in ("(OUT - row) // 2", "(OUT - N) // 2"):
        _, found = offered("constant_strides", "rows", [("s = 2.0", f"s = {code}")], tmp_path)
        made[code] = any(" N" in p.what for p in found)
    assert made == {"(OUT - row) // 2": True, "(OUT - N) // 2": False}


def test_a_constant_is_none_that_no_register_of_32_bits_holds(tmp_path):
    text, *given = SAMPLES["rows"]
    program = program_of(text, tmp_path)
    given[2] = {**given[2], "stride_x": 2**31}
    found = made_by("constant_strides", program, facts(launch(program, *given)))
    assert not any("stride_x" in p.what for p in found)
    assert any("stride_s" in p.what for p in found)


def test_a_flag_that_is_asked_of_another_block_guards_nothing(tmp_path):
    blocks = {p.parameters.get("BLOCK", 256) for p in offered("tiles", "even", [], tmp_path)[1]}
    assert max(blocks) > 256
    for asked in ('args["N"] % 256 == 0', "True"):
        change = [('args["N"] % args["BLOCK"] == 0', asked)]
        assert max({p.parameters.get("BLOCK", 256) for p in offered("tiles", "even", change, tmp_path)[1]} | {256}) == 256


def test_parts_are_no_larger_than_a_block_that_nothing_masks(tmp_path):
    """The host function makes a block of each row's length, and another call's is shorter than a part."""
    bare = [(", mask=c < N, other=0.0", ""), (", mask=c < N", "")]
    program, found = offered("row_blocks", "rows", bare, tmp_path)
    text = found[0].patch.apply(program.texts)[program.kernel.place.path]
    part = found[0].parameters["block"]
    assert f"PART=min({part}, triton.next_power_of_2(N))" in text
    program, found = offered("row_blocks", "rows", [], tmp_path)
    assert f"PART={part}" in found[0].patch.apply(program.texts)[program.kernel.place.path]


def test_a_pointer_that_the_kernel_moves_on_may_not_be_aligned(tmp_path):
    assert "    offs_m = " in BATCHED
    before = program_of(BATCHED, tmp_path, "before.py")
    after = program_of(BATCHED.replace("    offs_m = ", "    A += tl.program_id(2)\n    offs_m = ", 1), tmp_path, "after.py")
    loads = [p.parameters["loads"] for x in (before, after) for p in made_by("tensor_descriptors", x, batched_facts(x))]
    assert loads == [2, 1]


def test_nothing_is_loaded_ahead_of_atomics(tmp_path):
    change = [("        m = tl.max", "        tl.atomic_add(b_ptr + row, 1.0)\n        m = tl.max")]
    assert [offered("prefetch", "walk", x, tmp_path)[1] != [] for x in ([], change)] == [True, False]

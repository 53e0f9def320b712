"""``split_walk``: the edit on attention for one token, and what keeps it from firing."""

from __future__ import annotations

import ast

import pytest

from tests.unit.strategies.samples import made_by, program_of
from tests.unit.strategies.split_samples import SPLITS, captured

PARTS = """\
        place = (tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)) * PARTS + part
        tl.store(m_parts_ptr + place, m)
        tl.store(l_parts_ptr + place, l)
        tl.store(acc_parts_ptr + place * D + tl.arange(0, D), acc)
    else:
        for other in range(PARTS):
            place = (tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)) * PARTS + other
            theirs = tl.load(m_parts_ptr + place)
            unseen = (other > 0) & (theirs == float("-inf"))  # its sums are NaN
            highest = tl.maximum(m, theirs)
            base = tl.where(highest == float("-inf"), 0.0, highest)  # of parts that have seen nothing
            ours = tl.where(m == highest, 1.0, tl.exp(m - base))
            weight = tl.exp(theirs - base)
            l = l * ours + tl.where(unseen, 0.0, tl.load(l_parts_ptr + place)) * weight
            acc = acc * ours + tl.where(unseen, 0.0, tl.load(acc_parts_ptr + place * D + tl.arange(0, D))) * weight
            m = highest
        # The weights add up to one.
        tl.store(o_ptr + head * D + d, acc / l)
"""
LAUNCHES = """\
    acc_parts = torch.empty(H * B * parts * D, device=o.device, dtype=torch.float32)
    for stage in range(2):
        decode_kernel[(H, B, parts if stage < 1 else 1)](
"""


def found(name, tmp_path, text=None):
    program = program_of(text or SPLITS[name].text, tmp_path)
    return program, made_by("split_walk", program, captured(name, program))


def test_parts_come_below_the_higher_of_their_maxima(tmp_path):
    program, proposals = found("decode", tmp_path)
    after = next(iter(proposals[0].patch.apply(program.texts).values()))
    assert PARTS in after
    assert LAUNCHES.removesuffix("\n") in after
    assert proposals[0].numerics == "reassociates"


@pytest.mark.parametrize(
    ("side", "factor"),
    [("H", "H"), ("q.shape[1]", "q.shape[1]"), ("H - (B - B)", "(H - (B - B))"), ("(H + 1) // (1 + B // B)", "((H + 1) // (1 + B // B))")],
)
def test_a_side_of_the_grid_is_a_factor(side, factor, tmp_path):
    text = SPLITS["decode"].text.replace("decode_kernel[(H, B)]", f"decode_kernel[({side}, B)]")
    program, proposals = found("decode", tmp_path, text)
    after = next(iter(proposals[0].patch.apply(program.texts).values()))
    assert f"m_parts = torch.empty({factor} * B * parts, device" in after


def test_a_grid_of_its_own_line_moves_to_the_launch(tmp_path):
    grid = '    grid = lambda meta: (meta["H"], B)\n    decode_kernel[grid]'
    text = SPLITS["decode"].text.replace("    decode_kernel[(H, B)]", grid)
    program, proposals = found("decode", tmp_path, text)
    after = next(iter(proposals[0].patch.apply(program.texts).values()))
    assert "grid" not in after
    assert "decode_kernel[(H, B, parts if stage < 1 else 1)]" in after


def test_a_sum_of_parts_is_left_to_split_reduction(tmp_path):
    text = SPLITS["lengths"].text.replace("tl.sqrt(square)", "square").replace("    tl.store(top_ptr + cols, top, mask=cols < N)\n", "")
    text = text.replace("        top = tl.maximum(top, tl.max(x, axis=0))\n", "").replace(
        '    top = tl.full((BLOCK_N,), float("-inf"), dtype=tl.float32)\n', ""
    )
    assert found("lengths", tmp_path, text)[1] == []
    program = program_of(text, tmp_path)
    assert made_by("split_reduction", program, captured("lengths", program))


SPOILED = {
    "exponentials below another number": ("decode", ("p = tl.exp(s - new)", "p = tl.exp(s - new * 0.5)")),
    "exponentials of another base": ("decode", ("p = tl.exp(s - new)", "p = tl.exp2(s - new)")),
    "a scale of another base": ("decode", ("alpha = tl.exp(m - new)", "alpha = tl.exp((m - new) * 2)")),
    "a sum that isn't brought along": ("decode", ("acc = acc * alpha + tl.sum", "acc = acc + tl.sum")),
    "a sum that is scaled last": ("few_queries", ("        m = new\n", "        acc *= alpha[:, None]\n        m = new\n")),
    "a sum of squares of exponentials": ("decode", ("tl.sum(p, 0)", "tl.sum(p * p, 0)")),
    "a sum of roots of exponentials": ("decode", ("tl.sum(p, 0)", "tl.sum(tl.sqrt(p), 0)")),
    "the maximum is used": ("decode", ("tl.sum(p, 0)", "tl.sum(p, 0) * new")),
    "the maximum begins somewhere, and the sum at one": ("decode", ('    m = -float("inf")\n    l = 0.0', "    m = 0.0\n    l = 1.0")),
    "a maximum of float64": ("decode", ('    m = -float("inf")', '    m = tl.full((), -float("inf"), dtype=tl.float64)')),
    "a part of the sum that doesn't follow": ("decode", ("tl.sum(p, 0)", "1.0")),
    "the loop stores": ("decode", ("        m = new\n", "        m = new\n        tl.store(o_ptr, m)\n")),
    "the last weights are read": ("decode", ("acc / l)", "acc / l + tl.sum(p, 0))")),
    "a half-precision sum": (
        "lengths",
        ("square = tl.zeros((BLOCK_N,), dtype=tl.float32)", "square = tl.zeros((BLOCK_N,), dtype=tl.float16)"),
    ),
    "a product": ("lengths", ("square += ", "square *= ")),
    "the output is the caller's alone": ("decode", ("o = torch.empty_like(q)", "o = q.out")),
    "a return in between": ("decode", ("    m = -float", "    if S == 0:\n        return\n    m = -float")),
}


@pytest.mark.parametrize("why", SPOILED)
def test_keeps_away(why, tmp_path):
    name, (old, new) = SPOILED[why]
    text = SPLITS[name].text
    assert text.count(old) == 1
    ast.parse(text.replace(old, new))
    assert found(name, tmp_path)[1]
    assert not found(name, tmp_path, text.replace(old, new))[1], why

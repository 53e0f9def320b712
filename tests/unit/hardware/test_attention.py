"""The attention example on an H200: its captured traffic, and what Triton 3.6 compiles its variants to for sm_90."""

from __future__ import annotations

from attrs import evolve

from kernelband.explain.bottleneck import bottleneck
from kernelband.explain.why import reason
from kernelband.hardware import find_device
from kernelband.hardware.forecast import estimate, forecast
from kernelband.hardware.work import Work
from tests.captured_examples import load
from tests.unit.hardware.conftest import make_work

H200 = find_device("h200")
LAUNCH = load("flash_attention", "attention.py")[0]["launches"][0]  # the case that isn't causal
SCORES = 64 * 2048 * 2048  # batch and heads, queries, keys


def attention(code="original", *, rows=64, registers=128, shared=57344, warps=4, **more) -> Work:
    """A variant with so many queries a program: each key and value is loaded once for them."""
    loads = LAUNCH["unique_bytes"] / 4 + (LAUNCH["loads_bytes"] - LAUNCH["unique_bytes"] / 4) * 64 / rows
    return make_work(
        code=code,
        registers=registers,
        shared=shared,
        warps=warps,
        programs=2048 * 64 // rows,
        tensor_core="wgmma",
        dtype="float16",
        dram_bytes=float(LAUNCH["unique_bytes"]),
        moved_bytes=loads + LAUNCH["stores_bytes"],
        flops=LAUNCH["flops"],
        dot_flops=LAUNCH["dot_flops"],
        sectors=1.0,
        **{"arithmetic": LAUNCH["arithmetic"], "functions": dict(LAUNCH["functions"]), **more},
    )


ORIGINAL = attention()
EXP2 = attention("exp2", functions={"exp2": LAUNCH["functions"]["exp"], "div": LAUNCH["functions"]["div"]})
UNMASKED = evolve(EXP2, facts={**EXP2.facts, "code_hash": "unmasked"}, arithmetic=LAUNCH["arithmetic"] - SCORES)
WIDE = attention("128 rows", rows=128, warps=8, registers=127, shared=65536)
WIDEST = attention("128 x 128", rows=128, warps=8, registers=179, shared=114688)
SPILLED = attention("128 x 128, 4 warps", rows=128, warps=4, registers=255, shared=114688, spills=1260, serialized=True)


def test_the_capture_counts_an_exponential_for_each_score():
    assert LAUNCH["functions"]["exp"] == SCORES + 64 * 2048 * 32  # and one for each row and block of 64 keys
    assert 6 <= LAUNCH["arithmetic"] / SCORES <= 7  # scale, mask, maximum, difference, sum, rounding, and the rescaled output


def test_larger_tiles_are_not_promised_to_be_faster():
    """They halve what passes through the caches, and exponentials and products of the same programs then take turns."""
    wide, widest, spilled = (forecast(H200, [ORIGINAL], [x]) for x in (WIDE, WIDEST, SPILLED))
    assert wide.tier == widest.tier == "unclear"
    assert spilled.tier == "likely slower"
    assert wide.score > 1 > widest.score > spilled.score
    assert wide.score < 1.1


def test_each_term_moves_with_what_moves_it():
    before, exp2, unmasked, wide, widest = (estimate(H200, x).terms for x in (ORIGINAL, EXP2, UNMASKED, WIDE, WIDEST))
    assert exp2["compute"] < 0.85 * before["compute"]
    assert unmasked["compute"] <= exp2["compute"]
    assert wide["cache"] < 0.6 * before["cache"]
    assert wide["compute"] > 1.1 * before["compute"]  # two programs instead of four fill each other's gaps
    assert widest["compute"] > wide["compute"]  # one
    assert before["cache"] > before["compute"]


def test_with_larger_tiles_the_same_edits_are_a_gain():
    """Where the caches don't limit any more, what exp2 saves counts."""
    before = attention("a", rows=128, warps=8, registers=127, shared=65536)
    after = evolve(before, facts={**before.facts, "code_hash": "b"}, functions=EXP2.functions)
    found = forecast(H200, [before], [after])
    assert found.score > 1.2
    assert "Arithmetic: 3.13 G instructions on floats outside matrix products" in bottleneck(H200, before).sentence
    assert "Special functions (exp2, division): 273 M of them" in bottleneck(H200, after).sentence
    told = reason(H200, [before], [after], "exp becomes exp2", {})
    assert told is not None
    assert told.kinds == ("compute", "compute")
    assert "fewer instructions on floats outside matrix products: 3.13 G before, 2.04 G after" in told.moved

"""The moves of access layout and vectorization compute what the original computes, on sizes that fit and sizes that don't."""

from __future__ import annotations

import pytest

from kernelband.strategies import strategy
from tests.e2e.strategies.comparing import ROOT, differences
from tests.unit.strategies import access_samples
from tests.unit.strategies.samples import again, program_of

STRATEGIES = ("access_layout", "vectorization")
SAMPLES = {
    "wide": (access_samples.WIDE, access_samples.wide_facts, {"int32_offsets"}, ("* 2.0", "* 2.1")),
    "persistent rows": (
        access_samples.PERSISTENT_ROWS,
        access_samples.scale_facts,
        {"hoisted_loads", "divisibility_hints"},
        ("x * w + b", "x * w + 2 * b"),
    ),
    "row walk": (
        access_samples.ROW_WALK,
        access_samples.row_facts,
        {"unmasked_body", "guarded_fast_path"},
        ("range(0, N, BLOCK)", "range(0, N - 1, BLOCK)"),
    ),
    "batched": (
        access_samples.BATCHED,
        access_samples.batched_facts,
        {"tensor_descriptors"},
        ("acc += tl.dot(a, b)", "acc += tl.dot(a, b) * 1.1"),
    ),
    "flash": (access_samples.FLASH, access_samples.flash_facts, {"tensor_descriptors"}, ("* scale", "* scale * 1.1")),
}


def proposals(program, given):
    return {p.key: p for name in STRATEGIES for p in strategy(name).propose(program, given)}


def variants(text, given, folder):
    """Texts by what was done: each proposal alone, then one of each move on top of the other."""
    program = program_of(text, folder)
    path = program.kernel.place.path
    found = proposals(program, given(program))
    texts = {"original": program.texts[path], **{k: p.patch.apply(program.texts)[path] for k, p in found.items()}}
    done = set()
    for _ in range(8):
        step = next((p for p in proposals(program, given(program)).values() if p.move not in done), None)
        if step is None:
            break
        done.add(step.move)
        program = again(program, step.patch.apply(program.texts), folder)
        texts[" + ".join(sorted(done))] = program.texts[path]
    return {p.move for p in found.values()}, texts


@pytest.mark.parametrize("name", SAMPLES)
def test_equal_results(name, tmp_path):
    text, given, wanted, (before, after) = SAMPLES[name]
    moves, texts = variants(text, given, tmp_path)
    assert moves >= wanted
    broken = text.replace(before, after)
    assert broken != text
    results = dict(zip([*texts, "broken"], differences([*texts.values(), broken]), strict=True))
    assert results.pop("broken") is not None
    assert {k: r for k, r in results.items() if r is not None} == {}


@pytest.mark.parametrize("worker", [".worker", ".worker-newest"])
def test_cache_hints_compile(worker, tmp_path):
    """The interpreter has no caches: that Triton takes a hint where it stands, and ptxas the instruction, only a compilation shows."""
    python = str(ROOT / worker / "bin" / "python")
    told: set[str] = set()
    for name in ("wide", "persistent rows", "row walk"):
        program = program_of(SAMPLES[name][0], tmp_path)
        path, given = program.kernel.place.path, SAMPLES[name][1](program)
        texts = {"original": program.texts[path]}
        for proposal in (p for p in strategy("access_layout").propose(program, given) if p.move == "cache_hints"):
            child = again(program, proposal.patch.apply(program.texts), tmp_path)
            texts[proposal.key] = child.texts[path]
            more = (p for p in strategy("access_layout").propose(child, given) if p.move == "cache_hints")
            texts |= {f"{proposal.key} + {p.key}": p.patch.apply(child.texts)[path] for p in more}
        found = differences(list(texts.values()), "sm_90", python)
        assert {k: r for k, r in zip(texts, found, strict=True) if r is not None} == {}
        told |= set(texts)
    assert {k.partition("=")[2] for k in told if "+" not in k} >= {"stream)", "stores)", "stream_and_stores)", "past_l1)"}
    both = SAMPLES["wide"][0].replace(
        "tl.load(x_ptr + offs, mask=mask", 'tl.load(x_ptr + offs, mask, cache_modifier=".cg", eviction_policy="evict_first"'
    )
    assert both != SAMPLES["wide"][0]
    assert differences([SAMPLES["wide"][0], both], "sm_90", python)[1] is not None

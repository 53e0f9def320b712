"""Each fusion move's edit computes what the original computes, alone and on top of the others, under Triton's interpreter."""

from __future__ import annotations

import pytest

from kernelband.strategies import STRATEGIES, strategy
from tests.e2e.strategies.comparing import ROOT, differences
from tests.unit.strategies.fusion_samples import EXAMPLES, SAMPLES, example_variants, sample, sample_facts
from tests.unit.strategies.samples import again
from tests.unit.strategies.test_spellings import counted


@pytest.mark.parametrize("name", SAMPLES)
def test_each_move_computes_the_same(name, tmp_path):
    program = sample(name, tmp_path)
    path = program.kernel.place.path
    first = {}
    for proposal in strategy("fusion").propose(program, sample_facts(name, program)):
        first.setdefault((proposal.move, proposal.parameters.get("sum")), proposal)
    assert set(SAMPLES[name].moves) <= {move for move, _ in first}
    texts = [program.texts[path], *(p.patch.apply(program.texts)[path] for p in first.values())]
    broken = program.texts[path].replace(*SAMPLES[name].broken)
    assert broken != program.texts[path]
    *rest, caught = differences([*texts, broken])
    assert {k: r for k, r in zip(["original", *first], rest, strict=True) if r is not None} == {}
    assert caught is not None  # the judge of this test can tell


@pytest.mark.parametrize("name", [n for n, s in SAMPLES.items() if counted(s.text) != s.text])
def test_moves_of_loops_that_count_blocks_compute_the_same(name, tmp_path):
    program = sample(name, tmp_path)
    path = program.kernel.place.path
    program = again(program, {path: counted(program.texts[path])}, tmp_path)
    first = {}
    for proposal in (p for s in STRATEGIES for p in s.propose(program, sample_facts(name, program))):
        first.setdefault(proposal.move, proposal)
    assert "one_block" in first or "one_block" not in SAMPLES[name].moves
    texts = [SAMPLES[name].text, program.texts[path], *(p.patch.apply(program.texts)[path] for p in first.values())]
    told = dict(zip(["original", "counted", *first], differences(texts), strict=True))
    assert {k: r for k, r in told.items() if r is not None} == {}


@pytest.mark.parametrize("name", SAMPLES)
def test_moves_compose(name, tmp_path):
    """Every move that still fires, each on the text of the one before; then the first proposals of the other strategies on top."""
    program = sample(name, tmp_path)
    given = sample_facts(name, program)
    path = program.kernel.place.path
    texts, told = [program.texts[path]], ["original"]
    done: set[str] = set()
    while True:
        found = next((p for p in strategy("fusion").propose(program, given) if p.move not in done and p.move != "one_block"), None)
        if found is None:
            break
        done.add(found.move)
        texts.append(found.patch.apply(program.texts)[path])
        told.append(found.key)
        program = again(program, {path: texts[-1]}, tmp_path)
    for other in STRATEGIES:
        moves = {}
        for proposal in other.propose(program, given):
            moves.setdefault(proposal.move, proposal)
        texts += [p.patch.apply(program.texts)[path] for p in moves.values()]
        told += [p.key for p in moves.values()]
    assert len(done) >= min(2, len(SAMPLES[name].moves))
    assert {k: r for k, r in zip(told, differences(texts), strict=True) if r is not None} == {}


@pytest.mark.parametrize("kernel", EXAMPLES)
def test_variants_of_the_examples_pass_the_examples_own_tests(kernel, tmp_path):
    variants = example_variants(kernel, tmp_path, "cpu")
    found = differences([text for _, text in variants])
    assert {key: r for (key, _), r in zip(variants, found, strict=True) if r is not None} == {}


@pytest.mark.parametrize("worker", [".worker", ".worker-newest"])
def test_variants_compile(worker, tmp_path):
    """The interpreter knows no types: what a loop carries must keep its own, and every launch must compile."""
    python = str(ROOT / worker / "bin" / "python")
    wrong = {}
    for name in SAMPLES:
        program = sample(name, tmp_path)
        path = program.kernel.place.path
        first = {}
        for proposal in strategy("fusion").propose(program, sample_facts(name, program)):
            first.setdefault((proposal.move, proposal.parameters.get("sum")), proposal)
        texts = [program.texts[path], *(p.patch.apply(program.texts)[path] for p in first.values())]
        found = differences(texts, "sm_90", python)
        wrong |= {(name, k): r for k, r in zip(["original", *first], found, strict=True) if r is not None}
    assert wrong == {}
    text = SAMPLES["rms_norm"].text
    assert differences([text, text.replace("tl.sum(x * x, axis=0)", "x * x")], "sm_90", python)[1] is not None

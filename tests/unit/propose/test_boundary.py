"""Where every recorded call is a bare launch, no host function runs again: no edit of one is proposed."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kernelband.hardware import find_device
from kernelband.propose import Rewriter
from kernelband.propose.boundary import unseen_host
from kernelband.source import make_patch
from kernelband.source.model import Edit, Span
from kernelband.strategies import STRATEGIES, Facts
from tests.unit.propose.test_author import World, variant
from tests.unit.propose.test_gate import TEXT, program_of
from tests.unit.search.fake_lab import CASE
from tests.unit.strategies.samples import example, example_facts


def at(boundary: str, facts: Any) -> Any:
    return evolve(facts, cases=tuple({**c, "boundary": boundary} for c in facts.cases))


@pytest.mark.parametrize("name", ["matmul", "layer_norm"])
def test_the_rewriter_leaves_host_functions_alone_at_a_launch(name, tmp_path):
    program = example(name, tmp_path)
    inside = [h.span for h in program.hosts]

    def touched(boundary: str) -> dict[bool, int]:
        facts, counts = at(boundary, example_facts(name, program)), {True: 0, False: 0}
        for strategy in STRATEGIES:
            for proposal in Rewriter().write(program, strategy.card.name, facts, set(), 40).proposals:
                edits = [e for f in proposal.patch.files for e in f.edits]
                counts[any(s.start < e.span.end and e.span.start < s.end for e in edits for s in inside)] += 1
        return counts

    assert touched("host_call")[True] > 0
    found = touched("launch")
    assert found[True] == 0
    assert found[False] > 0


def test_kernels_may_be_edited_and_text_in_front_of_a_host_function_too(tmp_path):
    program = example("matmul", tmp_path)
    host = program.hosts[0]
    text = program.texts[host.place.path]
    cases = at("launch", example_facts("matmul", program)).cases

    def edited(start: int, end: int) -> str:
        return unseen_host(program, make_patch(program.texts, {host.place.path: [Edit(Span(start, end), "# new\n")]}), cases)

    assert edited(host.span.start, host.span.start) == ""
    assert edited(host.span.start + 1, host.span.start + 1) == host.place.qualname
    assert edited(program.kernel.body.start, program.kernel.body.start) == ""
    assert edited(len(text), len(text)) == ""
    mixed = (*cases, {**cases[0], "boundary": "host_call"})
    patch = make_patch(program.texts, {host.place.path: [Edit(Span(host.span.start + 1, host.span.start + 1), " ")]})
    assert unseen_host(program, patch, mixed) == ""


@pytest.mark.parametrize(("boundary", "count"), [("launch", 0), ("host_call", 1)])
def test_a_models_edit_of_a_host_function_is_refused_at_a_launch(tmp_path, boundary, count):
    program = program_of(TEXT, tmp_path)
    asked = World(program, variant("one", "n = n + 0"), variant("two", "n = n - 0"))
    case: Any = {**CASE, "boundary": boundary}
    draft = asked.author.write(program, "tiling", Facts(find_device("h100"), (case,)), set(), 8)
    assert len(draft.proposals) == count
    assert ("it edits copy, and no recorded call runs that" in asked.text) == (boundary == "launch")
    assert len(asked.client.talks) == 2 - count  # the refusal is its repair turn

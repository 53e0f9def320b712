"""The leader without the edits that gained nothing: planned from what was measured, executed as a trial, preferred when as fast."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import evolve

from kernelband.propose import Draft
from kernelband.search.finish import bet, in_order
from kernelband.search.last_trials import FewerEdits, fewer_edits
from kernelband.search.session import Session
from kernelband.search.trial import Trial, chain_of
from kernelband.source import make_patch
from kernelband.source.model import Edit, Patch, Program, Span
from kernelband.strategies import Facts, Proposal

from .fake_lab import TEXT
from .world import World, interrupted, rows


def trial(number: int, parent: int) -> Trial:
    proposal = Proposal("tiling", f"m{number}", {}, Patch(), "exact", "", "")
    return Trial(parent, "rewriter", proposal, {"id": "", "files": []}, number=number, outcome="faster", score=1.0, seconds=1.0)


CHAIN = {n: trial(n, p) for n, p in ((1, 0), (2, 1), (3, 0), (4, 2), (5, 4))}


def planned(*speeds: float, leader: int = 5) -> FewerEdits | None:
    known = dict(zip((0, 1, 2, 4, 5), (1.0, *speeds), strict=True))
    return fewer_edits(CHAIN, leader, lambda v: known[v])


def test_the_chain_starts_at_the_original() -> None:
    assert [t.number for t in chain_of(CHAIN, 5)] == [1, 2, 4, 5]
    assert chain_of(CHAIN, 0) == []


def test_edits_that_gained_nothing_are_left_out() -> None:
    found = planned(1.5, 1.505, 1.8, 1.79)
    assert found is not None
    assert (found.start, [t.number for t in found.kept], [t.number for t in found.dropped]) == (1, [4], [2, 5])


@pytest.mark.parametrize("speeds", [(1.5, 1.6, 1.7, 1.8), (1.5, 1.505, 1.50, 1.51)], ids=["all gained", "the rest is a variant already"])
def test_nothing_to_do(speeds: tuple[float, ...]) -> None:
    assert planned(*speeds) is None
    assert planned(*speeds, leader=0) is None


def test_of_equals_the_plain_one_comes_first() -> None:
    assert in_order({1: 1.50, 2: 1.508, 3: 1.2}, {1: 2, 2: 5, 3: 1}) == (1, 2, 3)
    assert in_order({1: 1.40, 2: 1.50}, {1: 1, 2: 5}) == (2, 1)
    assert in_order({}, {}) == ()


def test_a_bet_is_on_the_plain_one_too() -> None:
    trials = {n: evolve(trial(n, 0), outcome=said, edits=edits) for n, said, edits in LIKELY}
    speeds = {1: 1.5, 2: 1.505, 3: 3.0, 4: 1.2}
    assert bet(cast("Session", SimpleNamespace(trials=trials, speed=speeds.__getitem__))) == 1
    assert bet(cast("Session", SimpleNamespace(trials={}, speed=speeds.__getitem__))) is None


LIKELY = ((1, "likely_faster", 1), (2, "likely_faster", 3), (3, "unclear", 1), (4, "likely_faster", 1))


class Layers:
    """Doubles BLOCK (a gain up to 256) only after a comment, which gains half a percent, was added: every fast variant carries it."""

    name = "layers"
    free = True

    def __init__(self, *, needed: bool = False) -> None:
        self.needed = needed  # whether the doubling really can't be written without the comment

    def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
        ((path, text),) = program.texts.items()
        span = next(m for m in re.finditer(r"BLOCK=(\d+)", text)).span(1)
        block = int(text[span[0] : span[1]])
        out: list[Proposal] = []

        def add(move: str, edit: Edit, **parameters: Any) -> None:
            out.append(Proposal(strategy, move, parameters, make_patch(program.texts, {path: [edit]}), "exact", f"{move}.", "test"))

        commented = "# aside" in text
        if strategy == "fusion" and not commented:
            add("comment", Edit(Span(len(text), len(text)), "# aside\n"))
        again = limit > 100  # asked for every proposal of a program: the search writes known edits again
        if strategy == "tiling" and block < 256 and (commented or (again and not self.needed)):
            add("double", Edit(Span(*span), str(block * 2)), BLOCK=block * 2)
        new = [p for p in out if p.key not in already]
        return Draft(tuple(new[:limit]), exhausted=len(new) <= limit)


def test_the_last_trial_takes_the_needless_edit_back(world: World) -> None:
    ended = world.run(world.options(trials=8), author=Layers())
    found = rows(world, ended.run)
    best = found["variants"][ended.verified[0]]
    assert best.parameters["without"] == [1]
    assert best.id == len(found["trials"])
    assert best.parent == 0
    from kernelband.source import patch_from_json

    text = patch_from_json(best.patch).apply({str(world.file): TEXT})[str(world.file)]
    assert text == TEXT.replace("BLOCK=16", "BLOCK=256")
    assert [k.partition("(")[0] for k in best.parameters["after"]] == ["tiling.double"] * 3
    assert any("fewer edits" in n.text for n in world.named("noted"))
    assert ended.counts["executed"] == len(found["trials"]) <= 8
    choice = next(e for e in world.named("arm_chosen") if "fewer edits" in e.reason)
    assert "fusion.comment" in choice.reason


def test_an_edit_that_another_needs_stays(world: World) -> None:
    ended = world.run(world.options(trials=8), author=Layers(needed=True))
    best = rows(world, ended.run)["variants"][ended.verified[0]]
    assert "without" not in best.parameters
    assert best.parameters["BLOCK"] == 256


def test_policies_as_published_are_left_as_they_are(world: World) -> None:
    ended = world.run(world.options(trials=8, policy="paper"), author=Layers())
    assert all("without" not in v.parameters for v in rows(world, ended.run)["variants"])


def test_a_resumed_run_has_its_chain(world: World) -> None:
    from kernelband.search.resume import options_of

    first = interrupted(world, "trial_ended", 3, world.options(trials=8), author=Layers())
    ended = world.run(options_of(world.db, first.run), author=Layers(), resume=first.run)
    best = rows(world, ended.run)["variants"][ended.verified[0]]
    assert best.parameters["without"] == [1]
    assert [v.parameters.get("without") for v in rows(world, ended.run)["variants"]].count([1]) == 1

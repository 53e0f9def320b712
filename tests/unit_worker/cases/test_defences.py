"""Each defence by itself: with it switched off, a cheat that it is there for gets through. So none is idle, and each has its test."""

from __future__ import annotations

import pytest

from kernelband_worker import compare
from kernelband_worker.cases import expected, stress
from kernelband_worker.measure import contents, turn
from tests.unit_worker.cases.test_check import PLAIN, edit
from tests.unit_worker.cases.test_turns import (
    BLOCKS,
    CHEATS,
    game,  # noqa: F401 - the fixture
    seated,
    take_turn,
)


def same_contents(patch):
    patch.setattr(contents.Content, "secret", lambda self, storage: 0)


def names_of_types(patch):
    patch.setattr(expected, "kind", lambda tensor: type(tensor).__name__)


OFF = {
    "contents that nobody saw": (same_contents, "by address"),
    "kinds of results": (names_of_types, "lazy"),
}


@pytest.mark.parametrize("defence", OFF)
def test_a_turn_without_a_defence_lets_its_cheat_through(defence, game, monkeypatch):  # noqa: F811
    switch_off, cheat = OFF[defence]
    what, edits = CHEATS[cheat]
    assert not all(f["ok"] for f in game(what, edits))
    switch_off(monkeypatch)
    assert all(f["ok"] for f in game(what, edits))


def test_without_chance_a_cheat_knows_which_call_is_compared(replay, monkeypatch):
    """Were it always the first timed call, a variant that is wrong from the second on would never be seen."""
    monkeypatch.setattr(turn.Chance, "wants", lambda self: self.kept is None)
    run = replay(*PLAIN)
    case = seated(run, None)
    seen = set()
    for number in range(6):
        take_turn(run, None, case, f"{number:032x}")
        seen.add(turn.reveal(run.state, {"case": case, "blocks": BLOCKS})["k"])
    assert seen == {1}


KEPT_BUFFER = edit(
    "plain_function", ("def scale(x", "_kept = {}\ndef scale(x"), ("torch.empty_like(x)", "_kept.setdefault(x.shape, torch.empty_like(x))")
)


def test_a_check_that_does_not_look_for_kept_buffers_lets_one_through(replay, monkeypatch):
    run = replay(*PLAIN)
    variant = run.variant("a variant", *KEPT_BUFFER)
    assert not all(c["ok"] for c in run.check(variant)["cases"])
    monkeypatch.setattr(compare, "reuses", lambda *_: False)
    assert all(c["ok"] for c in run.check(variant)["cases"])


def test_without_stress_what_only_stress_shows_gets_through(replay, monkeypatch):
    edits = edit(
        "plain_function", ("tl.load(x_ptr + offsets, mask=mask) * factor", "tl.minimum(tl.load(x_ptr + offsets, mask=mask), 50.0) * factor")
    )
    run = replay(*PLAIN)
    variant = run.variant("a variant", *edits)
    assert [c["reason"] for c in run.check(variant)["cases"] if not c["ok"]] == []
    assert not all(c["ok"] for c in run.check(variant, stress=True)["cases"])
    monkeypatch.setattr(stress, "_candidates", lambda *_: ())
    assert all(c["ok"] for c in run.check(variant, stress=True)["cases"])

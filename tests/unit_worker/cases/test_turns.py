"""Turns of original and variant in states of their own, rehearsed on the interpreter; the original's state says who got right results."""

from __future__ import annotations

import random

import pytest
import torch

from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.store import open_store
from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure import bound
from kernelband_worker.measure.contents import Content, forget, sources_of
from kernelband_worker.measure.referee import Timed, referee
from kernelband_worker.measure.turn import call_once, reveal, survey, turn
from tests.unit_worker.cases.test_check import PACKAGE, PLAIN, STATIC, VIEWS, edit
from tests.unit_worker.measure import host

BLOCKS = "5a" * 16
OUT = ("torch.empty_like(x)", "_out(x)")


def remembers(key):
    """``scale`` returns what it returned before for the same key."""
    return edit(
        "plain_function",
        ("def scale(x", "_KNOWN = {}\n\n\ndef scale(x"),
        ("    return y\n", f"    return _KNOWN.setdefault({key}, y)\n"),
    )


GOOD = {
    "the original": (PLAIN, []),
    "larger blocks": (PLAIN, edit("plain_function", ("BLOCK=256", "BLOCK=512"), ("n, 256)", "n, 512)"))),
    "a sum in two steps": (
        STATIC,
        edit("static_method", ("tl.sum(x, axis=0)", "tl.sum(tl.sum(tl.reshape(x, (2, BLOCK // 2)), axis=1), axis=0)")),
    ),
    "in place": (VIEWS, edit("in_place", ("triton.next_power_of_2(cols)", "2 * triton.next_power_of_2(cols)"))),
    "another file": (PACKAGE, edit("package.settings", ("BLOCK = 256", "BLOCK = 128"))),
}
CHEATS = {
    "by address": (PLAIN, remembers("x.data_ptr()")),
    "by object": (PLAIN, remembers("id(x)")),
    "by shape": (PLAIN, remembers("x.shape")),
    "by version": (PLAIN, remembers("(x.data_ptr(), x._version // 1000)")),
    "the first result whatever comes": (PLAIN, remembers("0")),
    "wrong from the third call on": (
        PLAIN,
        edit(
            "plain_function",
            ("def scale(x", "_CALLS = []\n\n\ndef scale(x"),
            ("    return y\n", "    _CALLS.append(0)\n    return y if len(_CALLS) < 3 else y * 0.5\n"),
        ),
    ),
    "nothing": (PLAIN, edit("plain_function", ("BLOCK=256)", "BLOCK=256) if False else None"))),
    "lazy": (
        PLAIN,
        edit(
            "plain_function",
            ("def scale(x", "class Tensor(torch.Tensor):\n    pass\n\n\nTensor.__module__ = 'torch'\n\n\ndef scale(x"),
            ("    return y\n", "    return y.as_subclass(Tensor)\n"),
        ),
    ),
}


def seated(run, variant):
    run.state.kept["time"] = host.bench()
    (case,) = [c["id"] for c in run.cases if c["replayable"] and c["role"] == "time"][:1]
    run.state.kept["timed"] = [case]
    call_once(run.state, case, variant)
    return case


def take_turn(run, variant, case, seed, *, samples=4, batch=3):
    how = {"case": case, "method": "events", "samples": samples, "batch": batch, "sleep_us": 0.0}
    return turn(run.state, {"variant": variant, "cases": [how], "seed": seed})


@pytest.fixture
def game(replay):
    """What a variant of a program is worth after ``turns`` turns: whether each was right, with the reason."""

    def play(what, edits, turns=3):
        run, judge = replay(*what), replay(*what)
        variant = run.variant("a variant", *edits) if edits else None
        case = seated(run, variant)
        seated(judge, None)
        found = []
        for number in range(turns):
            seed = f"{number:032x}"
            result = take_turn(run, variant, case, seed)
            assert len(result["cases"][0]["device_us"]) == 4
            given = reveal(run.state, {"case": case, "blocks": BLOCKS})
            assert given["seed"] == seed
            asked = {"case": case, "blocks": BLOCKS, "numerics": "reassociates", "result": given}
            found.append(referee(judge.state, asked))
        return found

    return play


@pytest.mark.parametrize("name", GOOD)
def test_who_computes_is_right(name, game):
    what, edits = GOOD[name]
    assert [f["reason"] for f in game(what, edits)] == [None] * 3


@pytest.mark.parametrize("name", CHEATS)
def test_who_does_not_compute_in_timed_calls_is_wrong(name, game):
    what, edits = CHEATS[name]
    assert not all(f["ok"] for f in game(what, edits))


def test_what_it_compares_with_is_the_same_whether_it_has_the_contents_or_draws_them(replay):
    judge = replay(*PLAIN)
    case = seated(judge, None)
    stored = open_case(judge.state, case).stored
    timed = Timed(judge.state, open_store(judge.state), stored, Content("5b" * 16, 7, 0))
    for number in range(len(stored.sets[0].storages)):
        held = sources_of(judge.state, case, 0)[number]
        known = timed.content(0, number)
        forget(judge.state)
        assert torch.equal(timed.content(0, number), known)
        assert not torch.equal(known, timed._plain(0, number)) or held[1] is None
        seated(judge, None)


def test_a_reference_that_can_not_be_had_is_tried_once(game, monkeypatch):
    tried = []
    monkeypatch.setattr(ReplayCase, "reference", lambda self, *_: tried.append(self.case["id"]))
    assert all(f["ok"] for f in game(*GOOD["larger blocks"]))
    assert len(tried) == 1


def test_any_call_of_a_turn_may_be_the_one_that_is_compared(replay, monkeypatch):
    monkeypatch.setattr(bound, "urandom", random.Random(0).randbytes)
    run = replay(*PLAIN)
    case = seated(run, None)
    seen = set()
    for number in range(24):
        take_turn(run, None, case, f"{number:032x}", samples=2, batch=2)
        seen.add(reveal(run.state, {"case": case, "blocks": BLOCKS})["k"])
    assert seen == {1, 2, 3, 4}  # 0 is the call that isn't timed


def test_a_survey_tells_what_a_turn_needs(replay):
    run = replay(*PLAIN)
    case = seated(run, None)
    (found,) = survey(run.state, {"variant": None, "cases": [case], "seed": "ab"})["cases"]
    assert found["case"] == case
    assert found["buffers"] > 1
    assert found["wall_us"] > 0


def test_a_version_that_raises_says_whose_it_is(replay):
    run = replay(*PLAIN)
    variant = run.variant("raises", *edit("plain_function", ("n = x.numel()", "n = x.nmel()")))
    run.state.kept["time"] = host.bench()
    (case,) = [c["id"] for c in run.cases if c["role"] == "time"][:1]
    with pytest.raises(OperationFailed, match="The variant failed") as raised:
        call_once(run.state, case, variant)
    assert raised.value.kind == "entry_failed"


def test_what_was_not_kept_can_not_be_revealed(replay):
    run = replay(*PLAIN)
    with pytest.raises(OperationFailed):
        reveal(run.state, {"case": "c", "blocks": BLOCKS})

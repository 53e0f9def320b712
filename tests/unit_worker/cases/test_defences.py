"""Each defence by itself: with it switched off, a cheat that it is there for gets through. So none is idle, and each has its test.

The table of all defences, with the test that fails without each, is tests/redteam/defences.py.
"""

from __future__ import annotations

import os
import time

import pytest
import torch
from torch.overrides import TorchFunctionMode

from kernelband_worker import compare
from kernelband_worker.cases import expected, stress
from kernelband_worker.errors import OperationFailed
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


def test_a_second_call_knows_nothing_of_the_first(replay):
    """A result that is remembered with the object that it is of: every other check binds its arguments anew."""
    edits = edit(
        "plain_function",
        ("def scale(x", "_KNOWN = {}\n\n\ndef scale(x"),
        ("    return y\n", "    return _KNOWN.setdefault(id(x), (x, y))[1].clone()\n"),
    )
    run = replay(*PLAIN)
    (failed,) = [c for c in run.check(run.variant("a variant", *edits), stress=True)["cases"] if not c["ok"]]
    assert failed["reason"].startswith("with a second call on the same objects")


def test_what_the_tolerance_forgives_shows_against_float64(replay):
    edits = edit("plain_function", ("* factor, mask", "* factor * 1.000001, mask"))
    run = replay(*PLAIN)
    variant = run.variant("a variant", *edits)
    assert all(c["ok"] for c in run.check(variant, "exact", input_sets=[0])["cases"])
    reasons = [c["reason"] for c in run.check(variant, "reassociates", input_sets=[0])["cases"]]
    assert all("against float64" in reason for reason in reasons), reasons


REPLACED = {"clock": (time, "perf_counter", lambda: 0.0), "chance": (os, "urandom", bytes)}


@pytest.mark.parametrize("name", REPLACED)
def test_a_clock_and_chance_that_a_program_replaces_are_not_the_workers(name, replay, monkeypatch):
    run = replay(*PLAIN)
    case = seated(run, None)
    monkeypatch.setattr(*REPLACED[name])
    times, seen = [], set()
    for number in range(12):
        times += take_turn(run, None, case, f"{number:032x}")["cases"][0]["device_us"]
        seen.add(turn.reveal(run.state, {"case": case, "blocks": f"{number:032x}"})["k"])
    assert min(times) > 0.0
    assert len(seen) > 1


class Idle(TorchFunctionMode):
    """Copies nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return args[0] if func.__name__ == "copy_" else func(*args, **(kwargs or {}))


def test_contents_are_not_written_by_what_a_program_can_replace(monkeypatch):
    storage, whole = torch.zeros(8, dtype=torch.uint8), torch.arange(8, dtype=torch.uint8)
    monkeypatch.setattr(torch.Tensor, "copy_", lambda tensor, *_: tensor)
    with Idle():
        contents.put(storage, whole, None, 0)
    assert storage.tolist() == whole.tolist()


PAYS = """_OWED = {}


def _paying(method):
    def pay(tensor, *more, **options):
        _OWED.pop(tensor.data_ptr(), lambda: None)()
        return method(tensor, *more, **options)

    return pay


torch.Tensor.detach, torch.Tensor.clone = _paying(torch.Tensor.detach), _paying(torch.Tensor.clone)


def scale(x"""


def test_results_are_not_kept_by_what_a_program_can_replace(game, monkeypatch):  # noqa: F811
    """It would compute them just then, when nobody looks at the clock."""
    for name in ("detach", "clone"):
        monkeypatch.setattr(torch.Tensor, name, getattr(torch.Tensor, name))  # and it is that again afterwards
    edits = edit("plain_function", ("def scale(x", PAYS), ("    scale_kernel[", "    _OWED[y.data_ptr()] = lambda: scale_kernel["))
    assert not all(found["ok"] for found in game(PLAIN, edits))


def test_what_tunes_itself_anew_while_it_is_timed_is_refused(replay, monkeypatch):
    run = replay(*PLAIN)
    case = seated(run, None)
    seen = iter(range(9))
    monkeypatch.setattr(run.state.kept["time"].device, "tunings", lambda: next(seen))
    with pytest.raises(OperationFailed, match="its autotuner timed configurations") as raised:
        take_turn(run, None, case, "0" * 32)
    assert raised.value.kind == "unsupported"

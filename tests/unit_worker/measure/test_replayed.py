"""A replayed case as two sides: what is restored, what is dropped, and whose error an error is."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.cases.replay import Bound, Prepared, ReplayCase
from kernelband_worker.measure.replayed import of_the_program, plain, sides


class Replay(ReplayCase):
    """The real class, bound to plain functions instead of a store."""

    def __init__(self, functions, args, kwargs=None):
        self.functions, self.args, self.kwargs = functions, args, kwargs or {}
        self.bindings = []

    def bind(self, variant, prepared):
        self.bindings.append(variant)
        bound = Bound(self.functions[variant], self.args, self.kwargs, [], None)
        prepared.bound[variant] = bound
        return bound


def prepare(*storages, written=()):
    return Prepared(0, list(storages), {i: storages[i].clone() for i in written}, None)


def test_each_side_calls_its_own():
    replay = Replay({None: lambda x: x + 1, "v": lambda x: x + 2}, (1,))
    both = sides(replay, prepare(), "v")
    assert (both["A"].call(), both["B"].call()) == (2, 3)
    against_itself = sides(replay, prepare(), None)
    assert (against_itself["A"].call(), against_itself["B"].call()) == (2, 2)


def test_written_storages_come_back_in_place():
    x = torch.arange(8, dtype=torch.float32)
    prepared = prepare(x.view(torch.uint8), written=(0,))
    replay = Replay({None: lambda t: t.mul_(2), "v": lambda t: t.add_(1)}, (x,))
    both = sides(replay, prepared, "v")
    bound = list(replay.bindings)
    for letter in "ABAB":
        both[letter].restore()
        both[letter].call()
    both["A"].restore()
    assert torch.equal(x, torch.arange(8, dtype=torch.float32))
    assert replay.bindings == bound  # no argument tree was built anew


def test_objects_are_built_anew():
    class Model:
        calls = 0

    replay = Replay({None: lambda m: None, "v": lambda m: None}, (Model(),))
    replay.stored = None
    both = sides(replay, prepare(), "v")
    before = len(replay.bindings)
    both["A"].restore()
    assert len(replay.bindings) > before


def test_bindings_of_earlier_variants_are_dropped():
    prepared = prepare()
    replay = Replay(dict.fromkeys((None, "a", "b"), lambda: None), ())
    sides(replay, prepared, "a")
    sides(replay, prepared, "b")
    assert set(prepared.bound) == {None, "b"}


@pytest.mark.parametrize(
    ("value", "is_plain"),
    [((1, 2.0, "x", None, torch.float32), True), (torch.ones(2), True), ((torch.ones(2), [1]), False), ({}, False), (object(), False)],
)
def test_plain(value, is_plain):
    assert plain(value) is is_plain


def test_an_error_of_the_program_is_told_from_ours():
    def broken():
        raise ValueError("no such block size")

    both = sides(Replay({None: broken}, ()), prepare(), None)
    with pytest.raises(ValueError, match="block size") as raised:
        both["A"].call()
    failed = of_the_program(raised.value, "The variant")
    assert failed is not None
    assert failed.kind == "entry_failed"
    assert "ValueError: no such block size" in failed.message
    assert "in broken" in failed.data["detail"]
    with pytest.raises(ZeroDivisionError) as ours:
        1 / 0  # noqa: B018
    assert of_the_program(ours.value, "The variant") is None

"""Autotuners of a project's own on a pretended GPU: timed unseen, pinned where a choice is known, whatever they run or remember by."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import torch
import triton.testing
from triton.runtime.autotuner import Autotuner

from kernelband_worker.cases.watch import Watched, watching
from tests.unit_worker.launches.conftest import Session

ENTRIES = (Path(__file__).parents[2] / "fixtures" / "capture" / "entries.py").read_text()
SMALL, LARGE = {"BLOCK": 128, "num_warps": 2}, {"BLOCK": 512, "num_warps": 4}


@pytest.fixture
def session(gpu, monkeypatch):
    monkeypatch.setattr(triton.testing, "do_bench", gpu.get_benchmarker())
    monkeypatch.setattr(gpu, "get_benchmarker", lambda: triton.testing.do_bench)  # as a real driver gives it
    made = Session(**{"entries.py": ENTRIES})
    yield made
    made.loader.uninstall()


def timed(gpu):
    """How many configurations were."""
    return round(100 - gpu.clock)


def launch(session, name):
    """Twice, so that the second comes from what the first left."""
    entries = session.loader.original("entries")
    call = {"triple": entries.triple, "read": lambda x: entries.negate(x, False), "timed": lambda x: entries.negate(x, True)}[name]
    for _ in range(2):
        call(torch.ones(1000))


TUNERS = {"triple": "entries:shelved_kernel", "read": "entries:negate_kernel", "timed": "entries:negate_kernel"}


@pytest.mark.parametrize("captured", [False, True], ids=["observed", "under capture"])
@pytest.mark.parametrize("name", TUNERS)
def test_its_trial_runs_are_real_and_passed_over(session, gpu, name, captured):
    with watching(Watched()) if captured else contextlib.nullcontext(), session.observe():
        launch(session, name)
    assert timed(gpu) == 2
    assert [e.arguments["BLOCK"] for e in session.events] == [512, 512]  # the pretended GPU favours what it times last
    assert len(gpu.launched) == 4
    assert {e.config and e.config["BLOCK"] for e in session.events} == ({None} if name == "timed" else {512})


@pytest.mark.parametrize("name", ["triple", "read"])
def test_a_class_that_was_made_before_the_block_is_covered_too(session, gpu, name):
    session.loader.original("entries")
    with session.observe():
        launch(session, name)
    assert (timed(gpu), len(session.events), len(gpu.launched)) == (2, 2, 4)


@pytest.mark.parametrize("name", ["triple", "read"])
@pytest.mark.parametrize("known", [SMALL, LARGE])
@pytest.mark.parametrize("suppress", [False, True])
def test_a_known_choice_is_pinned(session, gpu, name, known, suppress):
    with session.observe(configs={"entries:shelved_kernel": [known], "entries:negate_kernel": [known]}, suppress=suppress):
        launch(session, name)
    assert [e.arguments["BLOCK"] for e in session.events] == [known["BLOCK"]] * 2
    assert (timed(gpu), len(gpu.launched)) == (0, 0 if suppress else 2)


@pytest.mark.parametrize("name", TUNERS)
def test_where_nothing_can_be_timed_the_first_configuration_is_taken(session, gpu, name):
    with session.observe(suppress=True):
        launch(session, name)
    assert [e.arguments["BLOCK"] for e in session.events] == [128, 128]
    assert (timed(gpu), gpu.launched) == (0, [])


def test_a_memory_on_a_disk_is_read_and_not_written(session, gpu):
    shelf = session.loader.original("entries").shelved_kernel.fn.shelf
    with session.observe(configs={"entries:shelved_kernel": [LARGE]}):
        launch(session, "triple")
    assert shelf.written == 0
    launch(session, "triple")  # as it is timed: what was pinned stays
    assert (timed(gpu), shelf.written, gpu.launched[-1][1][0]) == (0, 0, 2)


def test_what_the_tuner_remembers_goes_before_a_choice(session, gpu):
    launch(session, "triple")
    assert timed(gpu) == 2
    session.loader.original("entries").shelved_kernel.kept.clear()
    with session.observe(configs={"entries:shelved_kernel": [SMALL]}):
        launch(session, "triple")
    assert ([e.arguments["BLOCK"] for e in session.events], timed(gpu)) == ([512, 512], 2)


def test_a_benchmark_of_the_programs_own_is_no_tuner(session, gpu):
    class Bench:
        def __init__(self, call):
            self.kernel, self.call = session.loader.original("entries").double_kernel, call

        def run(self):
            return triton.testing.do_bench(self.call)

    calls = []
    with watching(Watched()), session.observe():
        Bench(lambda: calls.append(1)).run()
        session.loader.original("entries").double(torch.ones(1000))
    assert (len(calls), timed(gpu), len(session.events)) == (1, 0, 1)


def test_what_an_entry_keeps_is_seen_in_every_block_and_launched_outside(session, gpu):
    double = session.loader.original("entries").double
    for suppress in (True, False, True):
        with session.observe(suppress=suppress):
            double(torch.ones(1000))
    double(torch.ones(1000))
    assert len(session.events) == 3
    assert len({e.specialization["key"] for e in session.events}) == 1
    assert [grid for _, grid in gpu.launched] == [(4, 1, 1), (4, 1, 1)]


def test_what_is_kept_from_a_suppressed_launch_fits_its_pointers(session, gpu):
    """A kept kernel that was compiled for pointers to multiples of 16 bytes would fail for others."""
    entries = session.loader.original("entries")
    x = torch.ones(1001)[1:]
    with session.observe(suppress=True):
        entries.double_kernel[(4,)](x, x, 1000, BLOCK=256)
    (kept, _) = next(iter(entries.double_kernel.kept.values()))
    assert "tt.divisibility" not in kept.asm["ttir"].partition("{")[0].split("x_ptr")[1].partition(",")[0]


def test_a_tuners_class_is_as_before_after_the_block(session):
    with session.observe():
        entries = session.loader.original("entries")
        inside = entries.ShelvedTuner.run
    assert entries.ShelvedTuner.run is not inside
    assert "__init_subclass__" not in vars(Autotuner)

    class Later(Autotuner):
        def run(self, *args, **kwargs):
            return super().run(*args, **kwargs)

    run = Later.run
    with session.observe():
        assert Later.run is not run
    assert Later.run is run

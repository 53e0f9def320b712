"""How often a run's autotuners time configurations, in every operation and every process, and what they run with."""

from __future__ import annotations

import pytest
import torch
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources

from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.store import open_store
from kernelband_worker.cases.tuned import _autotuned
from kernelband_worker.measure.cuda import _count_tunings
from kernelband_worker.tuning import distance
from tests.unit_worker.tuning.conftest import CHOSEN

EDITED = "a" * 64, ("x * 2", "x + x")
WIDER = "b" * 64, ('"BLOCK": 256', '"BLOCK": 512')  # the choice for the larger case, edited as ``tiling.tiles`` does it
OTHERS = "e" * 64, ('{"BLOCK": 64}', '{"BLOCK": 32}'), ('{"BLOCK": 128}', '{"BLOCK": 512}'), ('{"BLOCK": 256}', '{"BLOCK": 1024}')
FAILS = "c" * 64, ('"BLOCK": 256', '"BLOCK": 512'), ("    y = torch.empty_like(x)", "    y = torch.no_such_function(x)")
PLAIN = "d" * 64, ("@triton.autotune(", "@heuristic(")


def by_size(executor, variant):
    """BLOCK of each timing case."""
    sizes = {case["id"]: case["tensors"][0]["shape"][0] for case in executor.cases}
    return {sizes[case]: executor.choice(variant, case) for case in executor.ids("time")}


def blocks(executor, variant, role):
    """BLOCK with which each case of a role was checked, by size, from the original's or the variant's own memory and choices."""
    found = {}
    for case in executor.ids(role):
        replay = open_case(executor.state, case)
        (choice,) = replay.choices(variant)["doubling:double_kernel"]
        found[replay.case["tensors"][0]["shape"][0]] = choice["BLOCK"]
    return found


@pytest.mark.parametrize("operation", ["check", "prepare", "time"])
def test_the_original_is_never_tuned_again(start, operation):
    executor = start()
    if operation == "check":
        assert all(case["ok"] for case in executor.check(None, "check", "time")["cases"])
    else:
        getattr(executor, operation)(None)
    assert executor.timed == 0
    assert by_size(executor, None) == {size: config["BLOCK"] for size, config in CHOSEN.items()}


@pytest.mark.parametrize(("fits", "block"), [(True, 256), (False, 64)])
def test_the_float64_reference_runs_with_the_choice_or_else_with_the_smallest(start, gpu, fits, block):
    executor, call = start(), gpu.launcher_cls.__call__
    every = (open_case(executor.state, case) for case in executor.ids("time"))
    (large,) = (replay for replay in every if replay.case["tensors"][0]["shape"] == [4096])

    def small(self, *args, **kwargs):
        if args[0] == 4096 // 256 and not fits:
            raise OutOfResources(300_000, 232_448, "shared memory")
        call(self, *args, **kwargs)

    gpu.launcher_cls.__call__ = small
    large.reference(0, 0)
    assert [args[0] for _, args in gpu.launched] == [4096 // block]


def test_the_program_can_be_imported_ahead_and_nothing_is_called(start):
    executor = start()
    (case, *_) = executor.ids("time")
    assert "doubling" not in executor.served.asked
    assert executor.open(case) == {}
    assert "doubling" in executor.served.asked
    assert executor.device.flushes == 0


def test_neighbours_run_with_the_choice_of_the_case_that_they_were_made_of(start):
    executor = start()
    assert blocks(executor, None, "check") == {2049: 64, 2047: 64, 1024: 64}


def test_a_trial_of_an_edited_kernel_tunes_nothing(start):
    executor = start()
    variant = executor.variant(*EDITED)
    assert all(case["ok"] for case in executor.check(variant, "check")["cases"])
    assert all(case["ok"] for case in executor.check(variant, "time")["cases"])
    executor.time(variant)
    assert executor.timed == 0
    assert by_size(executor, variant) == by_size(executor, None) == {2048: 64, 4096: 256}


def test_a_trial_of_an_edited_configuration_times_what_is_new_once_and_on_timing_cases_only(start):
    executor = start()
    variant = executor.variant(*WIDER)
    executor.check(variant, "check")  # neighbours come first in a trial
    assert executor.timed == 2  # on one case the new one against the known choice; on the other there is only the new one
    executor.check(variant, "time")
    executor.time(variant)
    assert executor.timed == 2
    assert by_size(executor, variant) == {2048: 512, 4096: 512}  # the pretended GPU favours what it times last
    assert blocks(executor, variant, "check") == {2049: 512, 2047: 512, 1024: 512}
    assert by_size(executor, None) == {2048: 64, 4096: 256}
    again = start()
    variant = again.variant(*WIDER)
    again.time(variant)
    assert again.timed == 2
    assert by_size(again, variant) == {2048: 512, 4096: 512}


def test_in_the_final_all_configurations_compete_once(start):
    first = start("all")
    variant = first.variant(*EDITED)
    first.check(variant, "check", "time")
    assert first.timed == 2 * 3
    assert by_size(first, None) == {2048: 64, 4096: 256}  # the original keeps its own while there is nothing to hold against it
    process = start("all")
    process.prepare(process.variant(*EDITED))
    assert process.timed == 2 * 3
    assert by_size(process, variant) == by_size(first, variant)


def test_in_the_final_the_original_is_tuned_against_what_finalists_chose_of_its_own_list(start):
    finalist = start("all")
    variant = finalist.variant(*EDITED)
    finalist.check(variant, "check", "time")
    assert by_size(finalist, variant) == {2048: 256, 4096: 128}  # the pretended GPU favours what it times last
    before = finalist.timed
    for _ in range(2):
        process = start("all")
        process.prepare(None)
        assert process.timed == before + 4  # at each size its own choice and the finalist's, once in the run
        assert by_size(process, None) == {2048: 256, 4096: 128}


def test_in_the_final_a_configuration_that_the_original_does_not_have_says_nothing_of_it(start):
    finalist = start("all")
    finalist.check(finalist.variant(*OTHERS), "check", "time")
    process = start("all")
    before = process.timed
    process.prepare(None)
    assert process.timed == before
    assert by_size(process, None) == {2048: 64, 4096: 256}


def test_in_the_final_each_version_is_timed_at_other_sizes_with_its_choice_and_the_others(start):
    """What was chosen for one size says little of another, and the user's tuner would choose there anew."""
    process = start("all")
    variant = process.variant(*EDITED)
    process.prepare(variant)
    process.prepare(None)
    tuned, sizes = process.timed, process.ids("check")
    process.prepare(variant, "check")
    assert process.timed == tuned + 2 * len(sizes)  # its own choice, and what the original's tuner chose where they were made
    assert {case: process.choice(variant, case) for case in sizes} == dict.fromkeys(sizes, 64)  # the pretended GPU favours the last
    process.prepare(None, "check")
    assert {case: process.choice(None, case) for case in sizes} == dict.fromkeys(sizes, 256)  # which is what the finalist chose, too
    again = start("all")
    again.prepare(again.variant(*EDITED), "check")
    again.prepare(None, "check")
    assert again.timed == tuned + 2 * len(sizes)  # once in the run
    assert {case: again.choice(variant, case) for case in sizes} == dict.fromkeys(sizes, 64)


def test_a_tuner_that_does_not_tell_sizes_apart_keeps_its_choice_at_all_of_them(start):
    process = start("all")
    variant = process.variant("f" * 64, EDITED[1], ('key=["n"]', "key=[]"))
    process.prepare(variant)
    tuned = process.timed
    process.prepare(variant, "check")
    assert process.timed == tuned


def test_a_variant_that_fails_in_its_first_call_is_a_result(start):
    executor = start()
    found = executor.check(executor.variant(*FAILS), "check", "time")["cases"]
    assert {case["ok"] for case in found} == {False}
    assert executor.timed == 0


def test_what_autotuners_time_is_counted_inside_and_outside_of_observed_calls(start, monkeypatch):
    monkeypatch.setattr(Autotuner, "_bench", Autotuner._bench)  # put back afterwards
    seen = []
    _count_tunings(lambda: seen.append(1))
    executor = start()
    variant = executor.variant(*WIDER)
    executor.time(variant)
    assert len(seen) == executor.timed == 2
    executor.loader.variant(variant, "doubling").double(torch.ones(77))
    assert len(seen) == executor.timed == 2 + 3


def test_only_where_something_is_autotuned_are_programs_called_for_it(start):
    executor = start()
    cases = [open_case(executor.state, case) for case in executor.ids("time")]
    assert _autotuned(executor.state, None, cases)  # by what was recorded
    assert not _autotuned(executor.state, None, [])
    assert _autotuned(executor.state, executor.variant(*EDITED), [])  # by what the edited file says
    assert not _autotuned(executor.state, executor.variant(*PLAIN), [])


def test_the_nearest_timing_case_is_the_one_of_similar_sizes(start):
    executor = start()
    one, other = ({**case, "neighbour_of": None} for case in executor.cases[:2])
    assert distance(one, one) == 0.0
    assert distance(one, other) == distance(other, one) > 0
    stranger = {"tensors": [{"name": "x", "shape": [3500]}], "neighbour_of": None, "launches": [], "id": "s"}
    assert distance(stranger, other) < distance(stranger, one)
    variant = executor.variant(*WIDER)
    executor.time(variant)
    executor.state.kept["settled"][variant][other["id"]] = {"doubling:double_kernel": [{"BLOCK": 128}]}
    known = open_case(executor.state, one["id"])
    replay = ReplayCase(executor.state, open_store(executor.state), known.stored)
    replay.case = stranger
    assert replay.choices(variant) == {"doubling:double_kernel": [{"BLOCK": 128}]}

"""What an autotuned launch runs with where choices are known, on a pretended GPU that counts what is timed."""

from __future__ import annotations

import pytest
import torch
import triton.testing
from triton.runtime.errors import OutOfResources

from kernelband_worker.cases.watch import Watched, watching
from tests.unit_worker.launches.programs import KERNELS

NAME = "lw.kernels:tuned"
SMALL, LARGE = {"BLOCK": 64, "num_warps": 2}, {"BLOCK": 128, "num_warps": 8}
LISTED = '[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)]'


def timed(gpu):
    """How many configurations were."""
    return round(100 - gpu.clock)


def refuse(gpu, programs):
    """A launch of so many has blocks that don't fit."""
    call = gpu.launcher_cls.__call__

    def small(self, *args, **kwargs):
        if args[0] == programs:
            raise OutOfResources(300_000, 232_448, "shared memory")
        call(self, *args, **kwargs)

    gpu.launcher_cls.__call__ = small


def variant(session, configs=LISTED, body="tl.load(x_ptr + offs)"):
    """``launch_tuned`` of a version with that list."""
    text = KERNELS.replace(LISTED, configs).replace("tl.load(x_ptr + offs)", body)
    session.loader.register(session.served.variant("v" * 64, lw__kernels=text))
    return session.loader.resolve("v" * 64, session.served.function("lw.launcher", "launch_tuned"))


@pytest.mark.parametrize(("known", "programs"), [(SMALL, 16), (LARGE, 8)])
def test_a_known_choice_is_pinned_and_stays(session, gpu, known, programs):
    x = torch.ones(1000)
    with session.observe(configs={NAME: [known]}):
        session.launcher.launch_tuned(x)
    session.launcher.launch_tuned(x)  # as it is timed: nothing in between
    assert {name: session.events[0].config[name] for name in known} == known
    assert [args[0] for _, args in gpu.launched] == [programs] * 2
    assert session.launcher.tuned.best_config.kwargs["BLOCK"] == known["BLOCK"]
    assert timed(gpu) == 0


def test_a_guess_is_not_kept(session, gpu):
    x = torch.ones(1000)
    with session.observe(configs={}):
        session.launcher.launch_tuned(x)
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (64, 0)
    session.launcher.launch_tuned(x)
    assert (session.launcher.tuned.best_config.kwargs["BLOCK"], timed(gpu)) == (128, 2)


def test_a_launch_that_nobody_wants_is_guessed_and_others_are_tuned(session, gpu):
    x, asked = torch.ones(1000), []
    with session.observe(guessed=lambda kernel: bool(asked.append(kernel["qualname"])) or len(asked) == 1):
        session.launcher.launch_tuned(x)
        assert timed(gpu) == 0
        session.launcher.launch_tuned(x)
    assert [event.config["BLOCK"] for event in session.events] == [64, 128]
    assert timed(gpu) == 2
    assert asked == ["tuned"] * 2


@pytest.mark.parametrize("suppress", [False, True])
@pytest.mark.parametrize(("configs", "block"), [({}, 64), ({NAME: [LARGE]}, 128)])
def test_where_results_are_all_that_is_wanted_the_smallest_comes_after_the_known_choice(session, gpu, suppress, configs, block):
    with session.observe(configs=configs, least=True, suppress=suppress):
        session.launcher.launch_tuned(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (block, 0)


@pytest.mark.parametrize(("least", "block"), [(False, 128), (True, 64)])
def test_what_does_not_fit_gives_way_to_the_smallest_where_results_are_wanted(session, gpu, least, block):
    launch_tuned = variant(session, "[triton.Config({'BLOCK': b}, num_warps=8) for b in (256, 128, 64)]")
    refuse(gpu, 4)
    with session.observe(configs={NAME: [{"BLOCK": 256, "num_warps": 8}]}, least=least):
        launch_tuned(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (block, 0)


def test_what_the_tuner_knows_stands(session, gpu):
    x = torch.ones(1000)
    session.launcher.launch_tuned(x)
    with session.observe(configs={NAME: [SMALL]}):
        session.launcher.launch_tuned(x)
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (128, 2)


def test_under_capture_only_an_autotuner_gets_times(session, gpu, monkeypatch):
    monkeypatch.setattr(triton.testing, "do_bench", gpu.get_benchmarker())
    monkeypatch.setattr(gpu, "get_benchmarker", lambda: triton.testing.do_bench)  # as a real driver gives it
    calls = []
    with watching(Watched()), session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
        assert timed(gpu) == 2
        triton.testing.do_bench(lambda: calls.append(1))
    assert session.events[0].config["BLOCK"] == 128  # the pretended GPU favours what it times last
    assert (len(calls), timed(gpu)) == (1, 2)


def test_each_launch_of_a_kernel_has_its_own_choice(session, gpu):
    with session.observe(configs={NAME: [SMALL, LARGE]}):
        for size in (1000, 2000, 3000):
            session.launcher.launch_tuned(torch.ones(size))
    assert [event.config["BLOCK"] for event in session.events] == [64, 128, 128]
    assert timed(gpu) == 0


def test_a_kernel_that_was_edited_under_the_same_list_is_not_tuned(session, gpu):
    launch = variant(session, body="tl.load(x_ptr + offs) + 1")
    with session.observe(configs={NAME: [SMALL]}, tune="new"):
        launch(torch.ones(1000))
    launch(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (64, 0)


def test_a_choice_that_was_edited_is_not_tuned(session, gpu):
    launch = variant(session, LISTED.replace("128", "256"))
    with session.observe(configs={NAME: [LARGE]}, tune="new"):
        launch(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (256, 0)


def test_a_new_configuration_is_timed_against_the_known_choice_once(session, gpu):
    more = LISTED[:-1] + ", " + ", ".join(f'triton.Config({{"BLOCK": {n}}}, num_warps=4)' for n in (256, 512)) + "]"
    launch = variant(session, more)
    with session.observe(configs={NAME: [SMALL]}, tune="new"):
        launch(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (512, 3)
    with session.observe(configs={NAME: [SMALL]}, tune="new"):
        launch(torch.ones(1000))
    assert (session.events[1].config["BLOCK"], timed(gpu)) == (512, 3)
    assert "prune_configs" not in vars(session.loader.variant("v" * 64, "lw.kernels").tuned)


def test_all_configurations_compete_where_that_is_asked_for(session, gpu):
    launch = variant(session, LISTED.replace("64", "32"))
    with session.observe(configs={NAME: [LARGE]}, tune="all"):
        launch(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (32, 2)  # the known choice is timed first, and later ones look faster


@pytest.mark.parametrize(
    ("configs", "block"), [(LISTED, 64), (LISTED[:-1] + ', triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})]', 512)]
)
def test_what_was_added_is_looked_at_where_nothing_is_timed(session, gpu, configs, block):
    launch = variant(session, configs, body="tl.load(x_ptr + offs) + 1")
    with session.observe(configs={NAME: [SMALL]}, suppress=True):
        launch(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (block, 0)


def test_what_was_added_is_not_looked_at_where_it_is_pruned(session, gpu):
    launch = variant(session, LISTED[:-1] + ', triton.Config({"BLOCK": 256}, num_warps=4)]')
    tuner = session.loader.variant("v" * 64, "lw.kernels").tuned
    tuner.early_config_prune = lambda configs, *_, **__: configs[:2]
    with session.observe(configs={NAME: [SMALL]}, suppress=True):
        launch(torch.ones(1000))
    assert session.events[0].config["BLOCK"] == 64


def test_a_hook_is_a_part_of_the_choice(session, gpu):
    launch = variant(session, LISTED.replace("num_warps=8", "num_warps=8, pre_hook=lambda arguments: None"))
    with session.observe():
        launch(torch.ones(1000))
    assert {name: session.events[0].config.get(name) for name in ("BLOCK", "pre_hook")} == {"BLOCK": 128, "pre_hook": True}
    with session.observe(configs={NAME: [session.events[0].config]}):
        launch(torch.ones(2000))
    assert (session.events[1].config["BLOCK"], timed(gpu)) == (128, 2)


def test_the_original_without_a_record_is_tuned_fully(session, gpu):
    with session.observe(configs={}, tune="new"):
        session.launcher.launch_tuned(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (128, 2)


def test_patience_ends_the_timing_of_a_long_list(session, gpu):
    with session.observe(configs={}, tune="all", patience_s=-1.0):
        session.launcher.launch_tuned(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (64, 1)


@pytest.mark.parametrize("configs", [{}, {NAME: [SMALL]}])
def test_what_does_not_fit_gives_way_to_what_does(session, gpu, configs):
    refuse(gpu, 16)
    with session.observe(configs=configs):
        session.launcher.launch_tuned(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu)) == (128, 0)
    session.launcher.launch_tuned(torch.ones(1000))
    assert timed(gpu) == 1  # neither is remembered as a choice: the tuner tries both, and one of them fits

"""What an autotuner is about to time is compiled side by side, on a pretended GPU that compiles for real."""

from __future__ import annotations

import threading
import time

import pytest
import torch
import triton
from triton.runtime.errors import OutOfResources

from kernelband_worker import side_by_side, triton_versions
from tests.unit_worker.launches.programs import KERNELS

LISTED = '[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)]'
TOGETHER_S = 60.0  # that one waits for the other

pytestmark = pytest.mark.skipif(triton_versions.compiling_mode() is None, reason="Triton compiles aside from 3.5 on")


@pytest.fixture
def compiled(session, monkeypatch):
    """On which threads the kernel was compiled."""
    monkeypatch.setattr(side_by_side, "cpus", lambda: 4)
    threads = []

    def compile_(*args, _own=triton.compiler.compile, **kwargs):
        threads.append(threading.current_thread())
        return _own(*args, **kwargs)

    monkeypatch.setattr(triton.compiler, "compile", compile_)
    return threads


def of_pool(threads):
    return [thread is not threading.main_thread() for thread in threads]


def timed(gpu):
    return round(100 - gpu.clock)


def test_configurations_are_compiled_at_the_same_time_and_timed_afterwards(session, gpu, compiled, monkeypatch):
    both = threading.Barrier(2)

    def compile_(*args, _own=triton.compiler.compile, **kwargs):
        both.wait(TOGETHER_S)  # breaks where one is compiled after the other
        return _own(*args, **kwargs)

    monkeypatch.setattr(triton.compiler, "compile", compile_)
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
    assert of_pool(compiled) == [True, True]
    assert (session.events[0].config["BLOCK"], timed(gpu), len(session.events)) == (128, 2, 1)


def test_a_race_compiles_what_it_times(session, gpu, compiled):
    with session.observe(configs={}, tune="all"):
        session.launcher.launch_tuned(torch.ones(1000))
    assert (of_pool(compiled), timed(gpu)) == ([True, True], 2)


def test_without_patience_nothing_is_compiled_aside(session, gpu, compiled):
    with session.observe(configs={}, tune="all", patience_s=-1.0):
        session.launcher.launch_tuned(torch.ones(1000))
    assert (False in of_pool(compiled), timed(gpu)) == (True, 1)


def test_what_compiling_takes_is_not_taken_from_timing(session, gpu, compiled, monkeypatch):
    def slowly(*args, _own=triton.compiler.compile, **kwargs):
        time.sleep(0.3)
        return _own(*args, **kwargs)

    monkeypatch.setattr(triton.compiler, "compile", slowly)
    with session.observe(configs={}, tune="all", patience_s=0.2):
        session.launcher.launch_tuned(torch.ones(1000))
    assert (of_pool(compiled), timed(gpu)) == ([True, True], 2)


def test_two_configurations_may_come_to_the_same_code(session, gpu, monkeypatch):
    monkeypatch.setattr(side_by_side, "cpus", lambda: 4)
    launch = variant(session, LISTED, '[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 64, "enable_fp_fusion": True})]')
    with session.observe():
        launch(torch.ones(1000))
    assert timed(gpu) == 2


def test_a_kernel_that_is_not_seen_is_left_to_the_tuner(session, gpu, monkeypatch):
    class Hidden:
        __slots__ = ("arg_names", "inner")

        def __init__(self, inner):
            self.inner, self.arg_names = inner, inner.arg_names

        def run(self, *args, **kwargs):
            return self.inner.run(*args, **kwargs)

    monkeypatch.setattr(side_by_side, "cpus", lambda: 4)
    monkeypatch.setattr(session.launcher.tuned, "fn", Hidden(session.launcher.tuned.fn))
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
    assert timed(gpu) == 2


def test_a_tuner_that_times_without_pruning_compiles_as_it_goes(session, gpu, compiled, monkeypatch):
    def run(tuner, *args, **kwargs):
        tuner.nargs = dict(zip(tuner.arg_names, args))
        tuner._bench(*args, config=tuner.configs[1], **kwargs)
        return tuner.fn.run(*args, **kwargs, **tuner.configs[1].all_kwargs())

    tuner = session.launcher.tuned
    monkeypatch.setattr(tuner, "__class__", type("Sparing", (type(tuner),), {"run": run}))
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
    assert (of_pool(compiled), timed(gpu)) == ([False], 1)


@pytest.mark.parametrize("cores", [1, 4])
def test_one_core_compiles_as_triton_does(session, gpu, compiled, monkeypatch, cores):
    monkeypatch.setattr(side_by_side, "cpus", lambda: cores)
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
    assert of_pool(compiled) == [cores > 1] * 2


def variant(session, old, new):
    assert old in KERNELS
    session.loader.register(session.served.variant("v" * 64, lw__kernels=KERNELS.replace(old, new)))
    return session.loader.resolve("v" * 64, session.served.function("lw.launcher", "launch_tuned"))


def test_what_does_not_compile_is_the_tuners_to_say(session, gpu, compiled, monkeypatch):
    def compile_(src, *args, _own=triton.compiler.compile, **kwargs):
        if 128 in src.constants.values():
            raise OutOfResources(300_000, 232_448, "shared memory")
        return _own(src, *args, **kwargs)

    monkeypatch.setattr(triton.compiler, "compile", compile_)
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
    assert (session.events[0].config["BLOCK"], timed(gpu), of_pool(compiled)) == (64, 1, [True])


def test_a_heuristic_that_fails_fails_where_the_tuner_asks_it(session, gpu, monkeypatch):
    monkeypatch.setattr(side_by_side, "cpus", lambda: 4)
    launch = variant(session, 'args["n"] % args["BLOCK"] == 0', 'args["missing"]')
    with session.observe(), pytest.raises(KeyError, match="missing"):
        launch(torch.ones(1000))


def test_a_hook_that_changes_the_launch_is_waited_for(session, gpu, compiled):
    """Its arguments aren't known before: only the tuner compiles it."""
    tuner = session.launcher.tuned
    for config in tuner.configs:
        config.pre_hook = lambda arguments: None
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
    assert (of_pool(compiled), timed(gpu)) == ([False, False], 2)


@pytest.mark.parametrize("where", ["wait", "_Begun.end"])
def test_an_end_in_between_leaves_triton_as_it_was(session, gpu, compiled, monkeypatch, where):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"{side_by_side.__name__}.{where}", stop)
        with session.observe(), pytest.raises(KeyboardInterrupt):
            session.launcher.launch_tuned(torch.ones(1000))
    assert triton_versions.compiling_mode().get() is None
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
    assert session.events[-1].config["BLOCK"] == 128

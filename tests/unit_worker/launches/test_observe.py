"""Launches on a pretended GPU: compiled for real, noted instead of done."""

from __future__ import annotations

import json

import pytest
import torch


def test_a_launch_with_its_arguments_grid_options_and_stack(session, gpu):
    x = torch.ones(1000)
    with session.observe():
        session.launcher.Op.run(x, 2.5)
    (event,) = session.events
    assert gpu.launched == [("plain", (8, 1, 1))]
    assert event.function == session.served.function("lw.kernels", "plain")
    assert list(event.arguments) == ["x_ptr", "out_ptr", "n", "s", "BLOCK"]
    assert event.arguments["x_ptr"] is x
    assert (event.arguments["n"], event.arguments["s"], event.arguments["BLOCK"]) == (1000, 2.5, 128)
    assert event.grid == (8, 1, 1)
    assert (event.options["num_warps"], event.options["num_ctas"]) == (4, 1)
    assert event.config is None
    assert event.traffic is None
    assert [(frame["module"], frame["qualname"]) for frame in event.frames] == [("lw.launcher", "launch"), ("lw.launcher", "Op.run")]
    signature = event.specialization["signature"]
    assert signature == {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "s": "fp32", "BLOCK": "constexpr"}
    assert json.loads(event.specialization["specialization_data"])["signature"] == signature


def test_nothing_is_seen_and_nothing_stays_patched_outside_the_block(session, gpu):
    with session.observe():
        pass
    session.launcher.launch(torch.ones(10))
    assert session.events == []
    assert len(gpu.launched) == 1


def test_patches_are_taken_away_when_the_program_fails(session):
    from triton.runtime.jit import JITFunction

    run = JITFunction.run
    with pytest.raises(TypeError), session.observe():
        session.launcher.plain[(1,)](torch.ones(1))
    assert JITFunction.run is run


@pytest.mark.parametrize(
    ("call", "expected"), [("launch_list", ((16, 1, 1), 4)), ("launch_run", ((1, 1, 1), 4)), ("launch_compiled", ((4, 1, 1), 8))]
)
@pytest.mark.parametrize("suppress", [False, True])
def test_every_way_to_launch(session, gpu, call, expected, suppress):
    with session.observe(suppress=suppress):
        getattr(session.launcher, call)(torch.ones(1000))
    (event,) = session.events
    assert event.function["qualname"] == "plain"
    assert (event.grid, event.options["num_warps"]) == expected
    assert event.frames[0]["qualname"] == call
    assert len(gpu.launched) == (0 if suppress else 1)


def test_an_autotuner_times_unseen_and_its_choice_is_told(session, gpu):
    with session.observe():
        session.launcher.launch_tuned(torch.ones(1000))
        session.launcher.launch_tuned(torch.ones(1000))
    assert [name for name, _ in gpu.launched] == ["tuned"] * 4  # two trial runs, then two launches
    assert len(session.events) == 2
    for event in session.events:
        assert (event.config["BLOCK"], event.config["num_warps"]) == (128, 8)
        assert event.arguments["EVEN"] is False
        assert event.grid == (8, 1, 1)


def test_suppressed_autotuning_takes_the_first_or_the_recorded_configuration(session, gpu):
    with session.observe(suppress=True):
        session.launcher.launch_tuned(torch.ones(1000))
    with session.observe(suppress=True, configs={"lw.kernels:tuned": [{"BLOCK": 128}]}):
        session.launcher.launch_tuned(torch.ones(1000))
    assert [event.config["BLOCK"] for event in session.events] == [64, 128]
    assert gpu.launched == []
    # and it leaves nothing in the autotuner's own memory
    session.launcher.launch_tuned(torch.ones(1000))
    assert len(gpu.launched) == 3
    assert session.launcher.tuned.best_config.kwargs == {"BLOCK": 128}


def test_suppressed_launches_write_nothing_and_compile_nothing(session, tmp_path):
    x = torch.ones(1000)
    with session.observe(suppress=True):
        session.launcher.launch_run(x)
    assert torch.equal(x, torch.ones(1000))
    assert not list(tmp_path.rglob("*.cubin"))


def test_equal_keys_for_what_compiles_to_the_same_code(session):
    launch = session.launcher.launch
    with session.observe(suppress=True):
        for x, s in ((torch.ones(1024), 1.0), (torch.ones(2048), 2.0), (torch.ones(1025), 1.0), (torch.ones(1), 1.0)):
            launch(x, s)
        launch(torch.ones(1025)[1:], 1.0)  # 1024 elements at an odd address
        launch(torch.ones(1024, dtype=torch.float16), 1.0)
        launch(torch.ones(1024), 1.0, block=64)
    keys = [event.specialization["key"] for event in session.events]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 6


def test_the_key_is_the_same_suppressed_and_launched(session):
    x = torch.ones(1024)
    for suppress in (True, False):
        with session.observe(suppress=suppress):
            session.launcher.launch(x)
            session.launcher.launch_compiled(x)
    plain, compiled, plain_again, compiled_again = (event.specialization["key"] for event in session.events)
    assert plain == plain_again
    assert compiled == compiled_again


def test_a_jit_function_as_a_constant(session):
    with session.observe(suppress=True):
        session.launcher.launch_function(torch.ones(64))
    (event,) = session.events
    assert event.specialization["constants"][1,] is session.launcher.helper
    assert event.specialization["key"]


def test_launches_through_a_variant_are_placed_on_the_real_path(session):
    text = session.served.files["lw/kernels.py"]
    session.loader.register(session.served.variant("c" * 64, lw__kernels=text.replace("* N", "+ N")))
    launch = session.loader.resolve("c" * 64, session.served.function("lw.launcher", "launch"))
    with session.observe(suppress=True):
        launch(torch.ones(1000))
        session.launcher.launch(torch.ones(1000))
    variant, original = session.events
    assert variant.function == original.function
    assert variant.frames == original.frames
    assert variant.specialization["key"] != original.specialization["key"]  # the helper was edited


def test_pre_run_hooks_run_once(session):
    calls = []
    session.launcher.plain.add_pre_run_hook(lambda *args, **kwargs: calls.append(kwargs["BLOCK"]))
    for suppress in (False, True):
        with session.observe(suppress=suppress):
            session.launcher.launch(torch.ones(10))
    assert calls == [128, 128]

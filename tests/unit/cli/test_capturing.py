"""How cases are shown: what a person reads of launches, data and effects."""

from __future__ import annotations

import io
from typing import Any, cast

from rich.console import Console

from kernelband.cli.capture import data_lines, effect_lines, launch_lines, render_capture
from kernelband_worker.wire import Case, LaunchFacts, TensorFacts

FUNCTION = {"module": "m", "path": "/w/m.py", "qualname": "scale"}


def tensor(name: str, policy: str = "drawn", storage: int = 0) -> TensorFacts:
    return cast("TensorFacts", {"name": name, "policy": policy, "storage": storage})


def launch(**changed: Any) -> LaunchFacts:
    plain = {
        "kernel": {**FUNCTION, "qualname": "scale_kernel"},
        "grid": [97, 1, 1],
        "num_warps": 4,
        "num_stages": 1,
        "num_ctas": 1,
        "constants": {"BLOCK": 64},
        "config": None,
        "target": True,
    }
    return cast("LaunchFacts", {**plain, **changed})


def case(**changed: Any) -> Case:
    plain = {
        "id": "c",
        "boundary": "host_call",
        "function": FUNCTION,
        "role": "time",
        "neighbour_of": None,
        "arguments": "x: float32[64]",
        "tensors": [tensor("x")],
        "outputs": ["return"],
        "launches": [launch()],
        "other_kernels": [],
        "calls": 3,
        "share": None,
        "memory_bytes": 2048,
        "reads_rng": False,
        "input_sets": 3,
        "noise": 0.0,
        "device_us": None,
        "replayable": True,
        "reason": None,
    }
    return cast("Case", {**plain, **changed})


def shown(*cases: Case, notes: tuple[str, ...] = (), wild: tuple[dict[str, Any], ...] = (), width: int = 140) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(render_capture("a kernel", cases, notes, wild))
    return out.getvalue()


def test_a_launch_with_its_grid_warps_and_constants() -> None:
    assert launch_lines([launch()]) == ["launches scale_kernel[97], 4 warps, 1 stage: BLOCK=64"]
    assert launch_lines([launch(grid=[4, 1, 2])]) == ["launches scale_kernel[4 × 1 × 2], 4 warps, 1 stage: BLOCK=64"]
    assert launch_lines([launch(num_warps=1, num_ctas=2, constants={})]) == ["launches scale_kernel[97], 1 warp, 1 stage, 2 CTAs"]
    assert launch_lines([launch(config={"BLOCK": 64})])[0].endswith("(autotuned)")
    assert "not the kernel that is optimized" in launch_lines([launch(target=False)])[0]


def test_equal_launches_are_counted_and_many_are_cut() -> None:
    assert launch_lines([launch(), launch(), launch(grid=[1, 1, 1])]) == [
        "launches scale_kernel[97], 4 warps, 1 stage: BLOCK=64, 2 times",
        "launches scale_kernel[1], 4 warps, 1 stage: BLOCK=64",
    ]
    lines = launch_lines([launch(grid=[n, 1, 1]) for n in range(10)])
    assert len(lines) == 7
    assert lines[-1] == "and 4 other launches"


def test_data_by_policy_and_shared_memory() -> None:
    tensors = [tensor("q"), tensor("table", "recorded", 1), tensor("k", storage=0)]
    (line,) = data_lines(case(tensors=tensors))
    assert line == "data q, k drawn; table recorded; q, k share memory, 3 input sets, 2.05 kB for two and the outputs"
    assert data_lines(case(tensors=[])) == []
    assert data_lines(case(neighbour_of="other")) == []


def test_effects() -> None:
    assert effect_lines(case()) == ["effects gives return"]
    assert effect_lines(case(outputs=[])) == []
    line = effect_lines(
        case(
            outputs=["return", "out (mutated)"],
            aliases={"return": "out", "out (mutated)": None},
            reads_rng=True,
            noise=3e-4,
            other_kernels=["fill", "fill"],
        )
    )
    assert line == [
        "effects gives return in the memory of out, out (mutated); reads random numbers; two runs differ by 0.0003 of the output's RMS; "
        "also runs fill"
    ]


def test_the_table_says_role_boundary_calls_share_time_and_replay() -> None:
    text = shown(case(share=0.75, device_us=12.0), case(role="check", boundary="launch", neighbour_of="c", calls=0, launches=[]))
    rows = [line.split() for line in text.splitlines()]
    assert ["role", "boundary", "call", "calls", "share", "time", "replay"] in rows
    assert ["time", "host", "call", "scale(x:", "float32[64])", "3", "75", "%", "12", "µs", "yes"] in rows
    assert ["check", "launch", "scale(x:", "float32[64])", "-", "-", "-", "yes"] in rows


def test_a_refused_case_gives_its_reason() -> None:
    text = shown(case(replayable=False, reason="it reads a clock"))
    assert "not replayable: it reads a clock" in text
    assert text.splitlines()[3].endswith("no    ")


def test_notes_once_and_accesses_outside_of_tensors() -> None:
    text = shown(notes=("Too small.", "Too small."), wild=({"path": "/w/m.py", "line": 7, "message": "reads past x"},))
    assert text.count("Too small.") == 1
    assert "m.py:7  out-of-bounds  reads past x" in text


def test_names_of_the_user_are_no_markup() -> None:
    text = shown(case(arguments="x: [/red] float32[64]"), notes=("[bold]x[/]",))
    assert "x: [/red] float32[64]" in text
    assert "[bold]x[/]" in text


def test_a_narrow_terminal_loses_nothing_of_the_call() -> None:
    text = shown(case(arguments="x: float32[64], " * 12), width=80)
    assert text.count("float32[64]") == 12
    assert max(map(len, text.splitlines())) <= 80

"""Nsight Compute's answers read from recorded output, and a launch written down and read back, without a GPU."""

from __future__ import annotations

import json
import struct
import sys
from types import SimpleNamespace

import pytest
import torch

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure import profile_ncu
from kernelband_worker.measure.profile import profile, replaying, watched
from kernelband_worker.measure.profile_launch import NotRecordableError, record
from kernelband_worker.measure.profile_replay import PATTERN, arguments
from kernelband_worker.state import State

HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name"'
ROW = '"0","4711","python3","127.0.0.1","add_kernel","1","7","(128, 1, 1)","(16384, 1, 1)","0","9.0","Command line profiler metrics"'


def details(rows):
    lines = "\n".join(f'{ROW},"{name}","{unit}","{value}"' for name, unit, value in rows)
    return f'==PROF== Connected to process 4711 (/usr/bin/python3)\n==PROF== Profiling "add_kernel": 0%....50%....100% - 9 passes\n==PROF== Disconnected from process 4711\n{HEAD},"Metric Name","Metric Unit","Metric Value"\n{lines}\n'  # noqa: E501 - as it is printed


SEEN = [
    ("gpu__time_duration.sum", "nsecond", "48,416"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "18.42"),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", "86.73"),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", "%", "55.10"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "%", "91.00"),
    ("dram__bytes_read.sum", "byte", "134,217,728"),
    ("dram__bytes_write.sum", "byte", "60,000,000"),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "sector/request", "16"),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "sector/request", "n/a"),
    ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "inst", "31.25"),
    ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "inst", "1.5"),
    ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "inst", "0"),
]


def test_the_table_becomes_a_profile():
    facts = profile_ncu.facts(profile_ncu.read(details(SEEN)))
    assert facts == {
        "us": pytest.approx(48.416),
        "sm": pytest.approx(0.1842),
        "dram": pytest.approx(0.8673),
        "l2": pytest.approx(0.551),
        "occupancy": pytest.approx(0.91),
        "dram_bytes": 194_217_728,
        "sectors": {"load": 16.0},
        "stalls": {"long_scoreboard": 31.25, "wait": 1.5},
    }
    assert list(facts["stalls"]) == ["long_scoreboard", "wait"]


def test_the_raw_page_says_the_same():
    names, units, values = zip(*SEEN)
    table = "\n".join(
        ",".join(f'"{cell}"' for cell in ("0" if i == 2 else "ID" if i == 0 else "", *row)) for i, row in enumerate((names, units, values))
    )
    assert profile_ncu.facts(profile_ncu.read(f"==PROF== Connected\n{table}\n")) == profile_ncu.facts(profile_ncu.read(details(SEEN)))


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on device 0.",
            "may not read the GPU's performance counters",
        ),
        ("==PROF== Connected\n==ERROR== Failed to find metric sm__nothing\n", "Failed to find metric sm__nothing"),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n", "LibraryNotLoaded"),
        ("", "printed no figures"),
        ('"ID","Kernel Name"\n', "printed no figures"),
    ],
)
def test_without_a_table_there_is_a_reason(text, clause):
    assert profile_ncu.read(text) == {}
    assert clause in profile_ncu.failure(text)


def test_only_hopper_is_asked_about_wgmma():
    assert any("gmma" in name for name in profile_ncu.metrics((9, 0)))
    assert not any("gmma" in name for name in profile_ncu.metrics((8, 6)))
    command = profile_ncu.command("/opt/ncu", ["a", "b"], ["python"])
    assert command[command.index("--clock-control") + 1] == "none"
    assert command[-3:] == ["--metrics", "a,b", "python"]


def test_a_profiler_that_hangs_is_ended(tmp_path):
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    assert watched([sys.executable, "-c", program], tmp_path, 0.3) == (False, "")


def test_a_profiler_that_is_not_there_is_said(tmp_path):
    ran, text = watched(["/nowhere/ncu"], tmp_path, 1.0)
    assert ran
    assert "No such file" in profile_ncu.failure(text)


def test_without_a_gpu_there_is_a_sentence():
    state = State(role="cpu", ask=lambda method, params: None, tell=lambda method, params: None)
    with pytest.raises(OperationFailed, match="no GPU"):
        profile(state, {"case": "c", "variant": None})


# ---------------------------------------------------------------- the record


def launched(signature, values):
    return SimpleNamespace(specialization={"signature": signature}, arguments=values, grid=(4, 2, 1))


def compiled(**metadata):
    facts = {"name": "kernel", "num_warps": 8, "shared": 1024, "num_ctas": 1, "global_scratch_size": 0, **metadata}
    return SimpleNamespace(metadata=SimpleNamespace(**facts), asm={"cubin": b"\x7fELF"})


def test_a_launch_is_written_down_and_its_arguments_come_back(tmp_path):
    base = torch.zeros(100, dtype=torch.float16)
    table = torch.arange(10, dtype=torch.int64)
    signature = {
        "x": "*fp16",
        "y": "*fp16",
        "ids": "*i64",
        "none": "*fp32",
        "n": "i32",
        "big": "i64",
        "eps": "fp32",
        "flag": "u1",
        "B": "constexpr",
    }
    values = {"x": base, "y": base[50:], "ids": table, "none": None, "n": -1, "big": 2**40, "eps": 0.5, "flag": True, "B": 64}
    record(launched(signature, values), compiled(), tmp_path)
    written = json.loads((tmp_path / "launch.json").read_text())
    assert [b["bytes"] for b in written["buffers"]] == [200, 80]
    assert (tmp_path / written["buffers"][1]["content"]).read_bytes() == table.numpy().tobytes()
    assert written["buffers"][0]["content"] is None
    assert (written["grid"], written["threads"]) == ([4, 2, 1], 256)
    packed = arguments(written, [1 << 32, 1 << 33])
    addresses = [struct.pack("<Q", a) for a in (1 << 32, (1 << 32) + 100, 1 << 33, 0)]
    assert packed == [*addresses, b"\xff" * 4, struct.pack("<q", 2**40), struct.pack("<f", 0.5), b"\x01"]


@pytest.mark.parametrize(
    ("signature", "values", "metadata", "clause"),
    [
        ({"d": "tensordesc<fp16[64,64]>"}, {"d": object()}, {}, "d is a tensordesc"),
        ({"t": ["*fp16", "i32"]}, {"t": ()}, {}, "t is a tuple"),
        ({"x": "*fp16"}, {"x": object()}, {}, "pointer of its own making"),
        ({}, {}, {"num_ctas": 2}, "clusters"),
        ({}, {}, {"launch_cooperative_grid": True}, "cooperative"),
    ],
)
def test_what_cannot_be_repeated_is_refused_with_a_reason(tmp_path, signature, values, metadata, clause):
    with pytest.raises(NotRecordableError, match=clause):
        record(launched(signature, values), compiled(**metadata), tmp_path)


def test_the_replaying_process_needs_nothing_but_python(tmp_path):
    """It fails at the driver, or at the record, in one line: no import of torch, no traceback."""
    ran, text = watched(replaying(tmp_path), tmp_path, 30.0)
    assert ran
    assert text.startswith("The recorded launch can't be replayed: ")
    assert "Traceback" not in text


def test_the_pattern_is_finite_in_every_dtype():
    raw = torch.tensor([PATTERN], dtype=torch.int32)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        assert bool(torch.isfinite(raw.view(dtype).float()).all())

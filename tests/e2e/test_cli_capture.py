"""`kernelband capture` in a process of its own, on a real worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.test_bad_input import refused, shadowing
from tests.e2e.test_cli_inspect import FIXTURES, NO_TORCH, NO_TRITON


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    return Home(tmp_path, worker_python)


def test_a_table_of_the_cases(home: Home) -> None:
    home.file.write_text(KERNEL.replace("4096", "700"))  # few programs, so that all are interpreted and neighbours can be made
    before = home.snapshot()
    done = home.run("capture", "scale.py", "--python", home.python)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("scale_kernel as scale.py::test_scale runs it, by the interpreter, standing in for NVIDIA H100 SXM")
    row = next(line for line in lines if line.startswith("time"))
    assert row.split() == ["time", "host", "call", "scale(x:", "float32[700])", "1", "-", "-", "yes"]
    assert any(line.strip() == "launches scale_kernel[11], 4 warps, 3 stages: BLOCK=64" for line in lines)
    assert any(line.strip().startswith("data x ") for line in lines)
    assert any(line.strip() == "effects gives return" for line in lines)
    assert any("(one less)" in line for line in lines), "a neighbouring size"
    assert home.snapshot() == before, "something was written"


def test_json_is_the_result_of_the_wire(home: Home) -> None:
    done = home.run("capture", "scale.py::scale_kernel", "--python", home.python, "--json", "--gpu", "mi300x")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert {"cases", "out_of_bounds", "functions_reached", "output", "seconds", "truncated", "notes"} <= set(result)
    assert result["device"] == "mi300x"
    assert result["measured"] is False
    case = next(c for c in result["cases"] if c["role"] == "time")
    assert case["function"]["qualname"] == "scale"
    assert case["launches"][0]["grid"] == [64, 1, 1]
    assert case["replayable"]


def test_a_project_that_chooses_by_the_name_of_its_gpu_is_told_that_of_the_target(home: Home) -> None:
    asks = "    assert torch.cuda.get_device_properties(0).name == 'NVIDIA H200 SXM'\n    x = torch.randn"
    home.file.write_text(KERNEL.replace("    x = torch.randn", asks))
    done = home.run("capture", "scale.py", "--python", home.python, "--json", "--gpu", "h200")
    assert done.code == 0, done.err
    assert json.loads(done.out)["cases"][0]["launches"][0]["callers"][0]["qualname"] == "scale"


def test_what_the_program_prints_stays_out_of_the_result(home: Home) -> None:
    home.file.write_text(KERNEL.replace("    x = torch.randn", "    print('{ hello from the program')\n    x = torch.randn"))
    done = home.run("capture", "scale.py", "--python", home.python, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["cases"]
    assert "hello from the program" in done.err


def test_a_program_that_ends_its_own_process_is_told_so(home: Home) -> None:
    home.file.write_text(KERNEL.replace("    x = torch.randn", "    __import__('os')._exit(3)\n    x = torch.randn"))
    done = home.run("capture", "scale.py", "--python", home.python)
    assert done.code == 5
    assert done.sentence == (
        "The entry test_scale ends its own process (exit code 3, as os._exit does), so scale_kernel isn't recorded: name another."
    )


def test_an_entry_in_another_file_and_an_unsaved_buffer(home: Home) -> None:
    (home.work / "bench_it.py").write_text(
        "import torch\nfrom scale import scale\n\n\ndef bench():\n    scale(torch.randn(700, device='cuda'))\n"
    )
    buffer = home.work.parent / "buffer.py"
    buffer.write_text(KERNEL.replace("2.0 *", "3.0 *").replace("BLOCK=64", "BLOCK=128").replace("cdiv(n, 64)", "cdiv(n, 128)"))
    done = home.run(
        *("capture", "scale.py", "--python", home.python, "--json", "--entry", "bench_it.py::bench", "--overlay", f"scale.py={buffer}")
    )
    assert done.code == 0, done.err
    case = json.loads(done.out)["cases"][0]
    assert case["tensors"][0]["shape"] == [700]
    assert case["launches"][0]["constants"] == {"BLOCK": 128}


def test_an_autotuner_that_cannot_time_is_said(home: Home) -> None:
    done = home.run("capture", str(FIXTURES / "grouped.py"), "--python", home.python)
    assert done.code == 0, done.err
    assert "(autotuned)" in done.out
    assert "can't time its configurations" in done.out


def test_bad_input(home: Home) -> None:
    run = home.run
    refused(home, 3, "There is no file nope.py", run=lambda: run("capture", "nope.py"))
    refused(home, 3, "no kernel nope", run=lambda: run("capture", "scale.py::nope"))
    refused(home, 6, "Unknown GPU 'h1000'", run=lambda: run("capture", "scale.py", "--gpu", "h1000"))
    refused(home, 4, "Did you mean test_scale", run=lambda: run("capture", "scale.py", "--entry", "test_scal"))
    refused(home, 5, "isn't a Python", run=lambda: run("capture", "scale.py", "--worker", "cat"))
    refused(home, 2, "FILE=PATH", run=lambda: run("capture", "scale.py", "--overlay", "scale.py"))


@pytest.mark.parametrize(("text", "word"), [(NO_TORCH, "has no torch"), (NO_TRITON, "has no triton")], ids=["torch", "triton"])
def test_a_python_without_torch_or_triton(home: Home, text: str, word: str) -> None:
    python = shadowing(home, text)
    refused(home, 5, word, run=lambda: home.run("capture", "scale.py", "--python", python))


def test_errors_of_the_program(home: Home) -> None:
    home.file.write_text(KERNEL.replace("    x = torch.randn", "    raise RuntimeError('my own trouble')\n    x = torch.randn"))
    done = refused(home, 4, "test_scale", run=lambda: home.run("capture", "scale.py", "--python", home.python))
    assert "my own trouble" in done.err
    home.file.write_text(KERNEL.replace("return y", "return ) y"))
    refused(home, 3, "line 17", run=lambda: home.run("capture", "scale.py", "--python", home.python))

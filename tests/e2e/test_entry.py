"""From a file that no test shows at work to a result: `kernelband entry`, then `kernelband optimize`. And every draft runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernelband.source import Workspace, find_kernels, find_program
from kernelband.workload.draft import Draft, draft_entry
from tests.e2e.cli_world import PATIENCE_S, Home

FIXTURES = Path(__file__).parents[1] / "fixtures" / "drafts"
#: Runs each file as it is given, where "cuda" is the CPU and kernels are interpreted.
RUNNER = """
import importlib, sys
import torch
from triton.runtime.autotuner import Autotuner

Autotuner._bench = lambda self, *a, config, **k: [1.0]  # there is no driver to time with
real = torch.Tensor.to
for name in ("randn", "rand", "randint", "randperm", "empty", "zeros", "tensor", "full", "linspace"):
    made = getattr(torch, name)
    setattr(torch, name, lambda *a, made=made, device=None, **k: made(*a, **k))
torch.Tensor.is_cuda = property(lambda self: True)
torch.nn.Module.to = lambda self, device=None, dtype=None: self._apply(lambda t: real(t, dtype) if dtype else t)
for said in sys.argv[1:]:
    module, _, name = said.partition("::")
    getattr(importlib.import_module(module), name)()
    print(f"ran {said}", flush=True)
"""


@pytest.mark.parametrize(("name", "where"), [("softmax.py", "bench_softmax.py"), ("02-softmax.py", "02-softmax.py")])
def test_a_file_without_a_test_goes_to_a_result(tmp_path: Path, worker_python: str, name: str, where: str) -> None:
    home = Home(tmp_path, worker_python)
    shutil.copy(FIXTURES / "softmax.py", home.work / name)
    refused = home.optimize(name, "--trials", "1")
    assert refused.code == 4
    assert f"`kernelband entry {name}::softmax_kernel` drafts one." in refused.sentence
    assert "kernelband" not in refused.events[-1]["message"], "an editor shows it"

    drafted = home.run("entry", name, "--yes", "--set", "n_rows=64", "--set", "n_cols=300")
    assert drafted.code == 0, drafted.err
    assert drafted.err.splitlines()[-1].endswith(f"Next: kernelband optimize {name}")

    done = home.optimize(name, "--trials", "1")
    assert done.code == 0, done.err
    (began,) = done.named("run_started")
    assert began["entry"].endswith(f"{where}::bench_softmax")
    (ended,) = done.named("run_ended")
    assert (ended["state"], ended["counts"]["executed"]) == ("finished", 1)


def test_every_draft_runs(tmp_path: Path, worker_python: str) -> None:
    """With small sizes, where there is no GPU; with those that are drafted, the program is the same."""
    (tmp_path / "run_them.py").write_text(RUNNER)
    entries: list[str] = []
    for file in sorted(FIXTURES.glob("*.py")):
        path = shutil.copy(file, tmp_path / file.name)
        kernels = find_kernels(str(path), file.read_text())
        for number, kernel in enumerate(k for k in kernels if not any(k.place in other.helpers for other in kernels)):
            draft = smaller(str(path), kernel.place.qualname)
            (tmp_path / f"drafted_{file.stem}_{number}.py").write_text(draft.text)
            entries.append(f"drafted_{file.stem}_{number}::{draft.entry}")
    assert len(entries) > 15
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [worker_python, "run_them.py", *entries]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"ran {said}" for said in entries]


def smaller(path: str, kernel: str) -> Draft:
    """The draft with sizes of at most 64, and few batches and heads, where that may be."""
    workspace = Workspace.for_file(path)
    program = find_program(workspace, path, kernel)
    guesses = [g for g in draft_entry(workspace, program).guesses if g.value.isdecimal() and not g.why.startswith("by its name")]
    sizes = {g.name: "64" if int(g.value) >= 64 else "2" for g in guesses if int(g.value) > 2}
    return draft_entry(workspace, program, sizes)

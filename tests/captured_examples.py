"""What a capture of each example's ``bench`` gives, kept as JSON: facts for the moves' tests without a worker.

    .venv/bin/python -m tests.captured_examples [NAME ...]

captures again and writes the files, for every name without one given. ``tests/e2e/test_all_examples.py`` says when they are out of date.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "fixtures" / "examples"
PYTHON = ROOT / ".worker" / "bin" / "python"
#: The kernels of examples that hold several; elsewhere the file's name is enough.
SEVERAL = {"layer_norm_bwd_dx_kernel": "layer_norm_backward", "layer_norm_bwd_dwdb_kernel": "layer_norm_backward"}
NAMES = (
    "batched_matmul",
    "column_sum",
    "cross_entropy",
    "flash_attention",
    "gather",
    "layer_norm_bwd_dx_kernel",
    "layer_norm_bwd_dwdb_kernel",
    "rms_norm",
    "rope",
    "row_quantize",
    "scan",
    "swiglu",
)


def target(name: str) -> str:
    """As the command line takes it, from the repository's root."""
    return f"examples/{SEVERAL[name]}.py::{name}" if name in SEVERAL else f"examples/{name}.py"


def facts_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The launches of each timing case, without what one machine or one Triton has of its own."""
    return [{"launches": [_launch(x) for x in case["launches"]]} for case in result["cases"] if case["role"] == "time"]


def _launch(launch: dict[str, Any]) -> dict[str, Any]:
    left = {k: v for k, v in launch.items() if k not in ("kernel", "specialization", "tensors", "lines")}
    return {
        "kernel": launch["kernel"]["qualname"],
        **left,
        "tensors": {name: {k: t[k] for k in ("shape", "stride", "dtype")} for name, t in launch["tensors"].items()},
        "lines": [{k: v for k, v in line.items() if k != "path"} for line in launch["lines"]],
    }


def load(name: str, path: str) -> list[dict[str, Any]]:
    """The cases of an example that stands at ``path``, as ``Facts`` holds them."""
    cases = json.loads((FOLDER / f"{name}.json").read_text())
    for number, case in enumerate(cases):
        case.update(id=str(number), role="time", neighbour_of=None)
        for launch in case["launches"]:
            launch.update(specialization=f"s{number}", kernel={"module": "sample", "path": path, "qualname": launch["kernel"]})
            for tensor, described in launch["tensors"].items():
                described["name"] = tensor
            for line in launch["lines"]:
                line["path"] = path
    return cases


def capture(name: str, python: str) -> dict[str, Any]:
    """A capture on the CPU, standing in for an H200."""
    command = [
        sys.executable,
        "-m",
        "kernelband",
        "capture",
        target(name),
        "--entry",
        "bench",
        "--gpu",
        "h200",
        "--python",
        python,
        "--json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in sys.argv[1:] or NAMES:
        text = json.dumps(facts_of(capture(each, str(PYTHON))))
        (FOLDER / f"{each}.json").write_text(text + "\n")

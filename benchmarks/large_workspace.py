"""A large workspace with a long history, as somebody has who optimizes a lot: what latency.py measures the language server on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

A_RUN = 50  # trials, about

KERNEL = '''
@triton.jit
def kernel_{i}(x, y, n, BLOCK: tl.constexpr):
    """Scales a block by {i}."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, {i}.0 * tl.load(x + at, mask=at < n), mask=at < n)


def host_{i}(x):
    y = torch.empty_like(x)
    kernel_{i}[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64, num_warps=4)
    return y
'''
OTHER = """
def plain_{i}(values, limit=16):
    found = []
    for value in values:
        if value is not None and value[0] < limit:
            found.append({{"value": value, "rest": [v for v in value[1:] if v]}})
    return found
"""
SEARCHED = """
@triton.jit
def searched(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n), mask=at < n)


def bench():
    x = torch.randn(1 << 24, device="cuda")
    searched[(triton.cdiv(x.numel(), 64),)](x, torch.empty_like(x), x.numel(), BLOCK=64)
"""
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"


def big_text(lines: int, kernels: int) -> str:
    """A module of about so many lines with so many kernels, each with its host function, spread over it."""
    size = KERNEL.count("\n")
    between = max((lines - kernels * size) // max(kernels, 1) // OTHER.count("\n"), 0)
    parts = [HEAD]
    for i in range(kernels):
        parts += [KERNEL.format(i=i), *(OTHER.format(i=i * between + j) for j in range(between))]
    return "\n".join(part.strip("\n") + "\n\n" for part in parts)


# ---------------------------------------------------------------- the history


def fill(db: Path, path: str, text: str, kernels: int, trials_: int) -> None:
    """A finished history of about so many trials: a few runs of each kernel, measured and predicted in turn, with real edits."""
    from kernelband.history import Store, runs, trials
    from kernelband.source import form, program_in

    each = max(trials_ // kernels, 1)
    per_kernel = max(each // A_RUN, 1)
    per_run = max(each // per_kernel, 1)
    with Store.write(db) as history:
        for i in range(kernels):
            original = form(program_in({path: text}, path, f"kernel_{i}"))  # by which the text on the screen is known again
            for r in range(per_kernel):
                row = _run(f"{i * per_kernel + r:08x}", path, f"kernel_{i}", measured=r % 2 == 0, age=kernels * per_kernel - i - r)
                runs.begin(history, row, {path: text})
                trials.write(history, _rows(row, text, original, per_run))


def _run(run: str, path: str, kernel: str, *, measured: bool, age: float) -> Any:
    from kernelband.history import this_process
    from kernelband.history.records import RunRow

    me = this_process()
    return RunRow(
        id=run,
        created=time.time() - 60 * age,
        kernel_key="k",
        path=path,
        kernel=kernel,
        device="NVIDIA H100",
        mode="measured" if measured else "predicted",
        policy="kernelband",
        objective="device",
        seed=0,
        trials_budget=A_RUN,
        seconds_budget=None,
        seconds_used=60.0,
        state="finished",
        phase="end",
        reason="",
        owner=me.text,
        host=me.host,
        pid=me.pid,
        process=me.process,
        heartbeat=time.time(),
        version="0",
        options={"entry": None},
        environment={"triton": "3.6.0", "gpus": [{"name": "NVIDIA H100"}]},
        clock={},
        summary={},
    )


def _rows(row: Any, text: str, original: str, count: int) -> Any:
    from kernelband.history import trials
    from kernelband.history.records import CaseRow, FinalRow, TrialRow, VariantRow
    from kernelband.source import make_patch, patch_to_json
    from kernelband.source.model import Edit, Span

    at = text.index("num_warps=4", text.index(f"def host_{row.kernel.rpartition('_')[2]}(")) + len("num_warps=")
    launch = {
        "kernel": {"module": "big", "path": row.path, "qualname": row.kernel},
        "grid": [4096, 1, 1],
        "num_warps": 4,
        "num_stages": 3,
        "constants": {"BLOCK": 64},
        "config": None,
    }
    facts = {"id": "c", "role": "time", "arguments": "x: float32[262144]", "launches": [launch], "other_kernels": []}
    result = {"correctness": "passed", "cases": [{"case": "c" * 16, "device_before_us": 1.0, "device_after_us": 1.0}] * 4}
    forecast = {"tier": "likely faster", "fact": "fewer programs", "launches": [{"case": "c", "key": "k" * 64, "kernel": row.kernel}] * 4}
    right = "passed" if row.mode == "measured" else "interpreted"
    said = {"key": "", "numerics": "exact", "what": "the original", "why": "", "author": "you", "patch": [], "identity": "", "forecast": {}}
    own = VariantRow(row.id, 0, None, "", "", {}, **said, form=original)
    variants = [
        own,
        *(
            VariantRow(
                row.id,
                n,
                0,
                "launch",
                "warps",
                {"num_warps": 4 + n},
                key=f"k{n}",
                numerics="exact",
                what=f"num_warps 4→{4 + n}",
                why="",
                author="rewriter",
                patch=patch_to_json(make_patch({row.path: text}, {row.path: [Edit(Span(at, at + 1), str(4 + n))]})),
                identity=f"i{n}",
                forecast=forecast,
                form=f"{row.kernel} {n}",
            )
            for n in range(1, count + 1)
        ),
    ]
    tried = [
        TrialRow(row.id, n, n, right, "faster", "none", "ok", "", 1.1, 1.0, 1.2, result, started=n, seconds=1.0, clock={})
        for n in range(1, count + 1)
    ]
    finals = [FinalRow(row.id, n, True, 1.2, 1.1, 1.3, result, seconds=1.0) for n in range(1, 4) if row.mode == "measured" and n <= count]
    return trials.Rows(cases=(CaseRow(row.id, "c", 0, "time", facts),), variants=tuple(variants), trials=tuple(tried), finals=tuple(finals))

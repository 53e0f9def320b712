"""Random programs: every move that is offered gives what the original gives, on sizes and values that no capture saw.

The short form of tests/stress/test_soundness.py: programs that between them are offered every move. What the unfriendly interpreter of
``soundness/machine.py`` can't show: races within a program, tensor cores' rounding, and what hints for caches, registers and warps do.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kernelband.strategies import STRATEGIES
from tests.e2e.strategies.comparing import PYTHON, ROOT
from tests.e2e.strategies.soundness.pieces import HEAD
from tests.e2e.strategies.soundness.programs import generate
from tests.e2e.strategies.soundness.trials import Tally, Worker, examine

SEEDS = (
    3,
    5,
    8,
    10,
    13,
    16,
    19,
    21,
    23,
    24,
    26,
    27,
    30,
    33,
    34,
    37,
    49,
    67,
    86,
    111,
    144,
    208,
    230,
    234,
    350,
)  # of some hundred, those that take least for all moves
CAPTURED = 4
MOVES = {m.name for s in STRATEGIES for m in s.moves}


@pytest.fixture(scope="module")
def worker():
    made = Worker(PYTHON)
    yield made
    made.end()


@pytest.mark.timeout(1800)
def test_every_move_is_offered_and_right(worker, tmp_path):
    tally = Tally()
    for seed in SEEDS:
        examine(generate(seed), seed, tmp_path, worker, tally, most=2, enough=3)
    print(f"seeds {SEEDS}: {tally}")
    assert [f"{w.seed} ({w.program}) {w.key}: {w.reason}\n{w.text}" for w in tally.wrong] == []
    assert set(tally.compared) == MOVES
    assert tally.hard > 0.9 * tally.calls


def test_what_is_recorded_is_what_a_capture_tells(worker, tmp_path):
    """The launches that strategies are told of here, without the machinery that people's programs go through."""
    sample = generate(CAPTURED)
    path = tmp_path / "sample.py"
    path.write_text(sample.text)
    command = [sys.executable, "-m", "kernelband", "capture", f"{path}::{sample.kernel}", "--entry", "test_entry", "--gpu", "h200"]
    done = subprocess.run([*command, "--python", PYTHON, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    cases = [c for c in json.loads(done.stdout)["cases"] if c["neighbour_of"] is None]
    recorded = worker.ask(do="record", text=sample.text, sizes=sample.sizes)
    assert len(cases) == len(recorded) == len(sample.sizes)
    for case, own in zip(cases, recorded, strict=True):
        told = [{**{k: launch[k] for k in own["launches"][0]}, "kernel": launch["kernel"]["qualname"]} for launch in case["launches"]]
        for launch in told:
            launch["tensors"] = {n: {k: t[k] for k in ("name", "shape", "stride", "dtype")} for n, t in launch["tensors"].items()}
        assert told == own["launches"]
        assert [{k: t[k] for k in ("name", "shape", "stride", "dtype")} for t in case["tensors"]] == own["tensors"]


# ---------------------------------------------------------------- the judge can tell

ROWS = (
    HEAD
    + """\
@triton.jit
def kernel(x_ptr, y_ptr, steps, cols, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    for t in tl.range(0, steps):
        x = tl.load(x_ptr + (row * steps + t) * cols + c, mask=mask, other=0.0)
        z = tl.load(y_ptr + (row * steps + t - D) * cols + c, mask=mask & (t >= D), other=0.0)
        tl.store(y_ptr + (row * steps + t) * cols + c, x + z, mask=mask)


def host(x):
    rows, steps, cols = x.shape
    y = torch.zeros_like(x)
    kernel[(rows,)](x, y, steps, cols, D=2, BLOCK=32)
    return y


def make(fill, rows, cols):
    return (fill(rows, 6, cols),)


def reference(x):
    y = x.clone()
    for t in range(2, 6):
        y[:, t] += y[:, t - 2]
    return y
"""
)
#: Edits of both texts, of the variant, and what is said of it. A friendly interpreter takes the third, the sixth and the last for right.
EDITS = {
    "nothing": ((), (), None),
    "other numbers": ((), ("x + z", "x + z + 1e-6"), "bit"),
    "loads that run ahead of a store": ((), ("tl.range(0, steps)", "tl.range(0, steps, num_stages=3)"), "bit"),
    "loads that don't run so far ahead": ((), ("tl.range(0, steps)", "tl.range(0, steps, num_stages=2)"), None),
    "loads beyond the tensor": ((), ("mask=mask & (t >= D)", "mask=mask"), "outside"),
    "garbage in masked lanes": ((), ("& (t >= D), other=0.0)", "& (t >= D))"), "NaN"),
    "a mask that is no longer there": ((), ("x + z, mask=mask)", "x + z)"), "outside"),
    "an error": ((), ("D=2,", "D=2, E=3,"), "KeyError"),
    "memory that nobody has written": (("x + z, mask=mask)", "x + z, mask=mask & (t > 0))"), ("zeros_like(x)", "empty_like(x)"), "NaN"),
}


@pytest.mark.parametrize("name", EDITS)
def test_the_judge_can_tell(name, worker):
    both, own, said = EDITS[name]
    original = ROWS.replace(*both) if both else ROWS
    variant = original.replace(*own) if own else original
    assert (variant == original) == (not own)
    calls = [[(3, 20), "normal"], [(1, 32), "outlier"], [(2, 7), "inf"]]
    told = worker.ask(do="compare", text=original, calls=calls, variants=[[variant, True]])
    assert told["calls"] == told["hard"] == 3
    (found,) = told["found"]
    assert (found is None) == (said is None), found
    assert said is None or said in found


def test_an_original_whose_programs_race_is_compared_in_their_order_only(worker):
    racing = ROWS.replace("tl.store(y_ptr + (row * steps + t) * cols", "tl.store(y_ptr + t * cols")
    told = worker.ask(do="compare", text=racing, calls=[[(3, 20), "normal"], [(1, 20), "normal"]], variants=[[racing, True]])
    assert told == {"calls": 2, "hard": 1, "found": [None]}


SPREAD = (
    HEAD
    + """\
@triton.jit
def kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * cols + c, mask=c < cols, other=0.0)
    mean = tl.sum(x, axis=0) / cols
    d = tl.where(c < cols, x - mean, 0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(d * d, axis=0) / cols)


def host(x):
    y = torch.empty(x.shape[0])
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


def make(fill, rows, cols):
    return (1e3 + fill(rows, cols),)


def reference(x):
    return x.var(-1, unbiased=False)
"""
)


@pytest.mark.parametrize(
    ("variance", "wanted"),
    [
        ("tl.sum(d * d, axis=0) / cols", True),
        ("tl.sum(d * (d / cols), axis=0)", True),
        ("tl.sum(x * x, axis=0) / cols - mean * mean", False),
    ],
)
def test_what_is_reassociated_is_measured_against_float64(variance, wanted, worker):
    text = SPREAD.replace("tl.sum(d * d, axis=0) / cols", variance)
    (found,) = worker.ask(do="compare", text=SPREAD, calls=[[(3, 50), "normal"], [(2, 64), "constant"]], variants=[[text, False]])["found"]
    assert (found is None) == wanted, found
    assert wanted or "off by" in found

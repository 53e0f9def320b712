"""What a check stresses, called in turns instead: the original's process makes it, the variant's calls it, the original's compares."""

from __future__ import annotations

import pytest

from kernelband_worker.cases import hidden as hiding
from kernelband_worker.cases import neighbours
from kernelband_worker.cases.hidden import hide
from kernelband_worker.cases.store import open_store
from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.referee import referee
from kernelband_worker.measure.turn import reveal, turn
from tests.unit_worker.cases.conftest import Run
from tests.unit_worker.cases.stress_programs import PROGRAMS, RIGHT, WRONG
from tests.unit_worker.measure import host

#: Of those that a check refuses by stress; what writes outside of its tensors is for the check alone to see.
VALUES = ("no maximum", "no NaN", "no weights", "eps written down", "no table", "no mask")
WRONG_WHEN_HIDDEN = [w for w in WRONG if w[1] in (*VALUES, "a block written down", "the pointer always there")]
NAMES = ("online", "rsqrt", "another block", "two passes, which is better")
#: Honest edits of a host function's arguments, as an edit given to ``verify`` may make them.
ARGUMENTS = [
    ("layer_norm", "eps by name only", [("bias, eps=1e-5", "bias, *, eps=1e-5")]),
    ("layer_norm", "another argument before eps", [("bias, eps=1e-5", "bias, block=None, eps=1e-5")]),
    ("masked", "one more argument", [("keep, bias=None, scale=1.0", "keep, bias=None, scale=1.0, out=None")]),
]
RIGHT_WHEN_HIDDEN = [*(r for r in RIGHT if r[0] not in ("rms_norm", "long_matmul") and r[1] in NAMES), *ARGUMENTS]


def hidden_of(judge, *, sizes=True):
    """What the original's state makes of its cases."""
    return hide(judge.state, {"cases": [c["id"] for c in judge.cases if c["replayable"]], "sizes": sizes, "programs": 0})["cases"]


@pytest.fixture(scope="module")
def seats(request, shim, tmp_path_factory):
    """Two states over one capture of a program, the variant's and the original's, and what the original made of stress."""
    text, kernel, function = PROGRAMS[request.param]
    store, files = tmp_path_factory.mktemp("store"), {"prog.py": text}
    run, judge = Run(shim, store, files), Run(shim, store, files)
    judge.capture("prog", kernel, [function], "test_it", neighbours=False)
    for seat in (run, judge):
        seat.state.kept["time"] = host.bench()
    with pytest.MonkeyPatch.context() as patch:
        if "matmul" in request.param:
            patch.setattr(neighbours, "_FAR", 64)
        hidden = hidden_of(judge)
    yield run, judge, hidden
    run.loader.uninstall()
    judge.loader.uninstall()


def found_wrong(seats, edits, among=None):
    """The stresses, all or those of some names, of which the referee says that the variant is wrong there, with the reason."""
    run, judge, hidden = seats
    variant = run.variant(f"{len(run.served.blobs)}", *(("prog", old, new) for old, new in edits)) if edits else None
    found = {}
    for number, case in enumerate(hidden):
        if among is not None and case["name"] not in among:
            continue
        how = {"case": case["id"], "method": "events", "samples": 1, "batch": 0, "sleep_us": 0.0}
        try:
            turn(run.state, {"variant": variant, "cases": [how], "seed": f"{number:032x}"})
        except OperationFailed as failed:
            found[case["name"]] = str(failed)
            continue
        blocks = f"{number + 1:032x}"
        given = reveal(run.state, {"case": case["id"], "blocks": blocks})
        asked = {"case": case["id"], "blocks": blocks, "numerics": "reassociates", "result": given}
        result = referee(judge.state, asked)
        if not result["ok"]:
            found[case["name"]] = result["reason"]
    return found


@pytest.mark.parametrize(
    ("seats", "edits", "found_by"),
    [(p, e, f) for p, _, e, f in WRONG_WHEN_HIDDEN],
    indirect=["seats"],
    ids=[f"{w[0]}, {w[1]}" for w in WRONG_WHEN_HIDDEN],
)
def test_what_is_wrong_under_stress_is_wrong_among_timed_calls(seats, edits, found_by):
    assert set(found_wrong(seats, edits, among={found_by})) == {found_by}


@pytest.mark.parametrize(
    ("seats", "edits"), [(p, e) for p, _, e in RIGHT_WHEN_HIDDEN], indirect=["seats"], ids=[f"{r[0]}, {r[1]}" for r in RIGHT_WHEN_HIDDEN]
)
def test_what_is_right_is_right_there_too(seats, edits):
    assert found_wrong(seats, edits) == {}
    assert len(seats[2]) >= 8


@pytest.mark.parametrize("seats", ["softmax"], indirect=True)
def test_none_is_taken_for_a_case_of_the_program(seats):
    _, judge, hidden = seats
    store = open_store(judge.state)
    assert {store.load(case["id"]).case["role"] for case in hidden} == {"hidden"}
    assert len({case["id"] for case in hidden}) == len(hidden)
    assert hidden_of(judge) == hidden


@pytest.mark.parametrize("seats", ["softmax"], indirect=True)
def test_without_other_sizes_the_rest_is_there(seats):
    _, judge, hidden = seats
    left = [case["name"] for case in hidden_of(judge, sizes=False)]
    assert left == [name for name in (case["name"] for case in hidden) if name in left]
    assert "large values" in left
    assert not {"a prime size", "one more"} & set(left)


@pytest.mark.parametrize("seats", ["masked"], indirect=True)
def test_what_is_too_large_is_left_out(seats, monkeypatch):
    monkeypatch.setattr(hiding, "MOST_BYTES", 0)
    assert hidden_of(seats[1]) == []
    monkeypatch.setattr(hiding, "MOST_BYTES", 1 << 20)
    assert hidden_of(seats[1]) == seats[2]

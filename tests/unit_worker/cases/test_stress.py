"""Under stress what is wrong elsewhere shows, by the stress that was made for it, and what is right passes."""

from __future__ import annotations

import pytest

from kernelband_worker.cases import neighbours
from kernelband_worker.cases import stress as stressing
from tests.unit_worker.cases.conftest import Run
from tests.unit_worker.cases.stress_programs import PROGRAMS, RIGHT, WRONG


@pytest.fixture(scope="module")
def run(request, shim, tmp_path_factory):
    """A capture of one program, with its smallest case alone. What the original gives is kept for all variants of it."""
    text, kernel, host = PROGRAMS[request.param]
    made = Run(shim, tmp_path_factory.mktemp("store"), {"prog.py": text})
    made.capture("prog", kernel, [host], "test_it", neighbours=False)
    with pytest.MonkeyPatch.context() as patch:
        if "matmul" in request.param:  # a thousand squared takes the interpreter ten seconds, and no block of theirs is as large
            patch.setattr(neighbours, "_FAR", 64)
        yield made
    made.loader.uninstall()


def stressed(run, edits, numerics="reassociates"):
    variant = run.variant(f"{len(run.served.blobs)}", *(("prog", old, new) for old, new in edits)) if edits else None
    return run.check(variant, numerics, input_sets=[0], stress=True)


@pytest.mark.parametrize(
    ("run", "edits", "found_by"), [(p, e, f) for p, _, e, f in WRONG], indirect=["run"], ids=[f"{w[0]}, {w[1]}" for w in WRONG]
)
def test_what_is_wrong_is_refused_by_the_stress_made_for_it(run, edits, found_by):
    result = stressed(run, edits)
    reasons = [c["reason"] for c in result["cases"] if not c["ok"]]
    assert len(reasons) == 1
    if found_by is None:  # without stress, which isn't even begun then
        assert not reasons[0].startswith("with ")
        assert result["stress"] == []
    else:
        assert reasons[0].startswith(f"with {found_by}"), reasons
        assert result["stress"][-1]["used"]


@pytest.mark.parametrize(("run", "edits"), [(p, e) for p, _, e in RIGHT], indirect=["run"], ids=[f"{r[0]}, {r[1]}" for r in RIGHT])
def test_what_is_right_passes(run, edits):
    result = stressed(run, edits)
    assert [c["reason"] for c in result["cases"] if not c["ok"]] == []
    assert sum(s["used"] for s in result["stress"]) >= 10


@pytest.mark.parametrize("seed", [10, 13, 14])
def test_what_is_better_where_sums_cancel_out_is_not_refused_by_chance(shim, tmp_path, monkeypatch, seed):
    """Rounding a few inputs once more changes nothing of such a sum, and that is no scale; data of these seeds show it."""
    text, kernel, host = PROGRAMS["one_pass"]
    (better,) = [edits for program, what, edits in RIGHT if (program, what) == ("one_pass", "two passes, which is better")]
    every = stressing._candidates
    monkeypatch.setattr(stressing, "_candidates", lambda *a: (c for c in every(*a) if c.name == "values far from zero"))
    made = Run(shim, tmp_path / "store", {"prog.py": text.replace("manual_seed(0)", f"manual_seed({seed})")})
    try:
        made.capture("prog", kernel, [host], "test_it", neighbours=False)
        result = stressed(made, better)
    finally:
        made.loader.uninstall()
    assert [c["reason"] for c in result["cases"] if not c["ok"]] == []
    assert [s["name"] for s in result["stress"] if s["used"]] == ["a second call on the same objects", "values far from zero"]

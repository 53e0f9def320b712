"""The defences, each with an edit that switches it off and a test that fails without it: what ``make stress`` makes sure of.

A row is one defence: where it stands, its text, which stands there exactly once, what stands there instead, and the test. By the parts of
JUDGING.md that they belong to: what is compared (1), what makes a result (2), what is timed (3), and the gate of a model's answers.
"""

from __future__ import annotations

from tests.redteam.defences.compared import COMPARED
from tests.redteam.defences.gate import GATED
from tests.redteam.defences.judged import RESULT
from tests.redteam.defences.row import ROOT, Defence
from tests.redteam.defences.timed import TIMED

__all__ = ["DEFENCES", "QUICK", "ROOT", "THROUGH", "Defence"]

DEFENCES: tuple[Defence, ...] = (*COMPARED, *RESULT, *TIMED, *GATED)

#: What gets through the whole final where one defence is off (``rehearsal.WITHOUT``), quick ones first; the tests of tests/unit_worker that
#: switch one off show the same in a part of it.
THROUGH = {
    "threads": "thread_beside",
    "bounds": "load_beyond_the_end",
    "several buffers": "reused_result_unlooked",
    "inputs left alone": "input_rows_written",
    "sizes": "rows_beyond_capture",
}
QUICK = ("threads", "bounds")  # tests/redteam/test_final.py, the others tests/stress/test_defences.py

"""Our own stop is no error of the program, wherever it comes and whatever is made of it."""

from __future__ import annotations

import pytest

RING = "signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
WAIT = "until = time.monotonic() + 20\nwhile time.monotonic() < until:\n    pass\n"
HEAD = "import signal\nimport time\n"
WRAPPED = """
def test_it():
    try:
        {ring}
        time.sleep(20)
    except BaseException as error:
        raise RuntimeError("the build failed") from error
"""


@pytest.mark.parametrize(
    "text",
    [f"{HEAD}{RING}{WAIT}def test_it():\n    pass\n", HEAD + WRAPPED.format(ring=RING.strip())],
    ids=["during its import", "made another error"],
)
def test_it_is_told_as_time(make, text):
    result = make({"slow_one.py": text}).run_entry("slow_one", "test_it")
    assert result["ok"] is False
    assert "took more than" in result["reason"]


def test_an_error_of_the_program_stays_its_own(make):
    result = make({"own.py": "def test_it():\n    raise RuntimeError('mine')\n"}).run_entry("own", "test_it")
    assert "RuntimeError: mine" in result["reason"]

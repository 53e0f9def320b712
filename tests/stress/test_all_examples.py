"""The long form of tests/e2e/test_all_examples.py."""

from __future__ import annotations

import pytest

from tests import captured_examples
from tests.e2e.test_all_examples import QUICK, prove


@pytest.mark.stress
@pytest.mark.parametrize("name", [n for n in captured_examples.NAMES if n not in QUICK])
def test_captured_as_the_moves_tests_are_told(name: str, worker_python: str) -> None:
    prove(name, worker_python)

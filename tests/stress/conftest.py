"""The fixtures of tests/e2e."""

from tests.e2e.conftest import worker_python  # noqa: F401

"""What is known of a text is shared: threads that ask for it at once are told the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from kernelband.source.scopes import Scopes

TEXT = "".join(f"a{i} = {i}\n" for i in range(200))


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_a_name_is_bound_for_every_thread_that_asks() -> None:
    with ThreadPoolExecutor(4) as pool:
        for _ in range(50):
            known, together = Scopes(TEXT), Barrier(4)

            def ask(_: int, known: Scopes = known, together: Barrier = together) -> int:
                together.wait(60)
                return len(known.bindings(known.module, "a199"))

            assert list(pool.map(ask, range(4))) == [1] * 4

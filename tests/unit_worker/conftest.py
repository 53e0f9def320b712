from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def unhurried() -> Iterator[None]:
    """What a capture makes doesn't depend on how busy the machine is: it has time for every neighbour, input set and stress."""
    from kernelband_worker.cases import capture, stress

    with pytest.MonkeyPatch.context() as patch:
        for name in ("SECONDS", "NEIGHBOUR_SECONDS", "SLOW_RUN_S"):
            patch.setattr(capture, name, 250.0)
        patch.setattr(stress, "_SECONDS", 1e6)
        yield

"""A session is opened once in a process, and says what it needs."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelband_worker import triton_versions
from kernelband_worker.errors import OperationFailed
from kernelband_worker.session import load_variant, open_session
from kernelband_worker.state import State

PARAMS: Any = {"id": "s", "top_level": [], "store": "", "seed": 0}


def state(role: str) -> State:
    return State(role=role, ask=lambda *_: None, tell=lambda *_: None)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a session sets for good is given back."""
    for name in ("TRITON_CACHE_DIR", "TRITON_DEFAULT_FP_FUSION"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
        monkeypatch.delenv(name)
    yield
    gc.unfreeze()


@pytest.mark.parametrize("role", ["cpu", "compile"])
def test_without_a_gpu_one_has_to_be_named(role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, keyed = state(role), []
    monkeypatch.setattr(triton_versions, "know_installation_by_its_library", lambda: keyed.append(role))  # for the whole process, for good
    with pytest.raises(OperationFailed, match=role) as refused:
        open_session(one, {**PARAMS, "cache": str(tmp_path)})
    assert refused.value.kind == "bad_request"
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path)
    assert keyed == [role]
    assert one.session is None


def test_one_session_a_process() -> None:
    one = state("cpu")
    one.session = PARAMS
    with pytest.raises(OperationFailed) as refused:
        open_session(one, PARAMS)
    assert refused.value.kind == "bad_request"


def test_a_variant_needs_one() -> None:
    with pytest.raises(OperationFailed) as refused:
        load_variant(state("cpu"), {"variant": "v", "files": []})  # type: ignore[typeddict-item]
    assert refused.value.kind == "bad_request"

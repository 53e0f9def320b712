"""What doctor concludes, from probes that answer, fail or hang."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from kernelband.cli import probes
from kernelband.cli.doctor import abilities, look, shareable
from kernelband.cli.probes import Check, database, environment, gpu_checks
from kernelband.errors import ExecutorFault, WorkerError
from kernelband.history import Store
from kernelband_worker.wire import Environment, Gpu


def ok(*names: str) -> list[Check]:
    return [Check(name, "ok", "", "") for name in names]


def missing(name: str) -> Check:
    return Check(name, "missing", "", "")


ALL = ok("kernelband", "search", "worker", "torch", "triton", "ptxas", "gpu 0", "history")
GPU: Gpu = {
    "index": 0,
    "uuid": "GPU-1",
    "name": "NVIDIA H200",
    "capability": [9, 0],
    "multiprocessors": 132,
    "memory_bytes": 140 * 2**30,
    "free_bytes": 139 * 2**30,
    "l2_bytes": 60 * 2**20,
    "shared_limit_bytes": 232448,
    "registers": 65536,
    "clock_khz": 1980000,
    "memory_clock_khz": 3201000,
    "processes": [],
}


def there(**changed: Any) -> Environment:
    plain = {
        "python": "3.12.3",
        "torch": "2.11.0",
        "triton": "3.6.0",
        "numpy": None,
        "cuda": "12.9",
        "driver": "570.1",
        "ptxas": "12.8.93",
        "settings": {},
        "gpus": [GPU],
        "tools": {"cc": "/usr/bin/cc", "nvidia-smi": "/usr/bin/nvidia-smi", "ncu": None, "nsys": "/opt/nsys"},
    }
    return cast("Environment", {**plain, **changed})


def works(checks: list[Check]) -> dict[str, bool]:
    return {a.name: a.works for a in abilities(checks)}


def test_everything_is_there() -> None:
    assert set(works(ALL).values()) == {True}


@pytest.mark.parametrize(
    ("lost", "still", "word"),
    [
        ("search", {"read", "history", "inspect"}, "kernelband[search]"),
        ("torch", {"read", "history"}, "--python"),
        ("triton", {"read", "history"}, "--python"),
        ("versions", {"read", "history"}, "--python"),
        ("worker", {"read", "history"}, "--python"),
        ("history", {"read", "inspect"}, "--db"),
        ("compiler", {"read", "history", "inspect", "predict"}, "C compiler"),
    ],
)
def test_what_still_works_without(lost: str, still: set[str], word: str) -> None:
    checks = [c for c in ALL if c.name != lost] + [missing(lost)]
    assert {name for name, can in works(checks).items() if can} == still
    assert word in next(a for a in abilities(checks) if a.name == "measure").text


def test_without_a_gpu_prediction_works_and_the_way_to_one_is_named() -> None:
    checks = [c for c in ALL if c.name != "gpu 0"] + [Check("gpu", "note", "none", "")]
    assert works(checks) == {"read": True, "history": True, "inspect": True, "predict": True, "measure": False}
    assert "--worker" in next(a for a in abilities(checks) if a.name == "measure").text


def test_a_probe_that_hangs_or_fails_is_said_and_the_others_are_told() -> None:
    never = threading.Event()

    def hangs() -> list[Check]:
        never.wait(100)
        return []

    def fails() -> list[Check]:
        raise RuntimeError("a strange machine\nwith details")

    found = look({"a": hangs, "b": fails, "c": lambda: ok("c")}, 3.5)
    never.set()
    assert [(c.name, c.state) for c in found] == [("a", "missing"), ("b", "missing"), ("c", "ok")]
    assert "no answer within 3.5 s" in found[0].found
    assert "a strange machine" in found[1].found
    assert "details" not in found[1].found


# ---------------------------------------------------------------- the worker's Python


def named(checks: list[Check], name: str) -> Check:
    return next(c for c in checks if c.name == name)


def test_a_gpu_with_nobody_else() -> None:
    found = environment(there())
    assert {c.state for c in found if c.name != "ncu"} == {"ok"}
    gpu = named(found, "gpu 0")
    assert "NVIDIA H200, driver 570.1, 139 of 140 GiB free" in gpu.found
    assert named(found, "nsys").found == "/opt/nsys"
    assert named(found, "ncu").state == "note"
    assert works([*ok("kernelband", "search", "worker", "history"), *found])["measure"]


def test_others_on_the_gpu_are_named_and_do_not_stop_measuring() -> None:
    found = environment(there(gpus=[{**GPU, "processes": ["ann 12 python 900 MiB"]}]))
    assert any("ann 12 python 900 MiB" in c.found and c.state == "note" for c in found)
    assert works([*ok("kernelband", "search", "worker", "history"), *found])["measure"]


def test_a_gpu_that_triton_does_not_support() -> None:
    (found,) = gpu_checks({**GPU, "name": "NVIDIA GeForce GTX 1080", "capability": [6, 1]}, there())
    assert found.state == "missing"
    assert "8.0 or higher" in found.means
    checks = [*ok("kernelband", "search", "worker", "torch", "triton", "history"), found]
    assert works(checks)["predict"]
    assert not works(checks)["measure"]


def test_no_c_compiler_stops_measuring_only() -> None:
    found = environment(there(tools={"cc": None, "nvidia-smi": None, "ncu": None, "nsys": None}))
    assert named(found, "compiler").state == "missing"
    found = environment(there(gpus=[], driver=None, tools={"cc": None, "nvidia-smi": None, "ncu": None, "nsys": None}))
    assert not any(c.name == "compiler" for c in found), "without a GPU nobody needs one"


@pytest.mark.parametrize(
    ("changed", "state", "words"),
    [
        ({"driver": None, "tools": {"nvidia-smi": None}}, "note", "none available"),
        ({"cuda": None}, "missing", "this torch is built without CUDA"),
        ({}, "missing", "CUDA_VISIBLE_DEVICES"),
        ({"driver": None}, "missing", "finds no GPU"),
    ],
)
def test_why_there_is_no_gpu(changed: dict[str, Any], state: str, words: str) -> None:
    gpu = named(environment(there(**{"gpus": [], **changed})), "gpu")
    assert gpu.state == state
    assert words in gpu.found
    assert "predicted" in gpu.means


def test_a_worker_of_another_version_that_names_no_tools() -> None:
    plain = there()
    del plain["tools"]
    assert not {"ncu", "nsys"} & {c.name for c in environment({**plain, "gpus": []})}


@pytest.mark.parametrize(
    ("error", "name", "words"),
    [
        (WorkerError("x has no torch: install it.", kind="torch_missing"), "torch", "x has no torch"),
        (WorkerError("x has triton 2.1.", kind="too_old"), "versions", "triton 2.1"),
        (WorkerError("There is no program x."), "worker", "no program x"),
        (ExecutorFault("Late.", fault="timeout"), "torch", "took longer than"),
        (ExecutorFault("Died.", fault="crashed", detail="Traceback\n  x\nOSError: no disk\n"), "worker", "OSError: no disk"),
    ],
)
def test_what_stands_in_the_way_has_a_name(error: WorkerError, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(probes.Worker, "start", refuses)
    (found,) = probes.worker(probes.WorkerCommand((), "python3"))
    assert (found.name, found.state) == (name, "missing")
    assert words in found.found


# ---------------------------------------------------------------- the database


def only(path: Path) -> Check:
    (found,) = database(str(path))
    return found


def test_no_database_yet_is_fine_and_none_is_made(tmp_path: Path) -> None:
    found = only(tmp_path / "deep" / "h.db")
    assert found.state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_whole_database(tmp_path: Path) -> None:
    Store.write(tmp_path / "h.db").close()
    found = only(tmp_path / "h.db")
    assert found.state == "ok"
    assert "0 runs, integrity ok" in found.found


def test_a_damaged_and_a_newer_database(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_bytes(b"not a database " * 500)
    assert "damaged" in only(tmp_path / "no.db").found
    Store.write(tmp_path / "h.db").close()
    db = sqlite3.connect(tmp_path / "h.db")
    db.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('kernelband', '9999_future', 'x')")
    db.commit()
    db.close()
    assert only(tmp_path / "h.db").state == "missing"
    assert "newer KernelBand" in only(tmp_path / "h.db").found


def test_a_database_that_is_not_read_through_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.write(tmp_path / "h.db").close()

    def late(self: Store, seconds: float) -> str:
        raise TimeoutError

    monkeypatch.setattr(Store, "integrity", late)
    assert only(tmp_path / "h.db").state == "note"


def test_a_folder_in_the_way_and_one_that_is_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(tmp_path).state == "missing"
    (tmp_path / "file").write_text("x")
    assert only(tmp_path / "file" / "h.db").state == "missing"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "isn't writable" in only(tmp_path / "h.db").found


def test_what_is_shared_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    checks = [Check("worker", "ok", "/home/somebody/venv/bin/python3 on jane@gpu-box", "somebody's Python 3.12.3"), *ok("torch")]
    text = str(shareable(checks, "ssh jane@gpu-box"))
    assert not [word for word in ("home", "somebody", "jane", "gpu-box", "venv") if word in text]
    assert "Python 3.12.3" in text
    assert "/home/somebody" in str(checks)

"""A worker here: calls, files by content hash, prints, large frames, many calls, what executors get to see."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from kernelband.errors import ExecutorFault, WorkerError, WorkloadError
from kernelband.worker import Executor, Worker
from kernelband_worker.wire import VariantFiles
from tests.e2e.conftest import Files, Log, StartWorker, command


@pytest.fixture
def worker(start: StartWorker) -> Worker:
    worker = start()
    worker.start_executor("a", "cpu")
    return worker


def test_hello(worker: Worker) -> None:
    hello = worker.hello
    assert hello["python"] == ".".join(map(str, sys.version_info[:3]))
    assert (hello["executable"], hello["platform"]) == (sys.executable, sys.platform)
    assert 1 <= hello["cpus"] <= (os.cpu_count() or 1)
    assert Path(hello["scratch"]).stat().st_mode & 0o777 == 0o700


def test_scratch_honours_tmpdir(start: StartWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert Path(start().hello["scratch"]).parent == tmp_path


def test_a_programs_temporary_files_go_with_the_scratch_folder_unless_its_sockets_would_not_fit_there(
    start: StartWorker, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for longer, inside in ((temporary, True), (temporary / ("long" * 15), False)):
        longer.mkdir(exist_ok=True)
        monkeypatch.setenv("TMPDIR", str(longer))
        worker = start()
        worker.start_executor("a", "cpu")
        told = worker.call("a", "facts", {}, 60)["environment"]
        assert told["TMPDIR"] == (f"{worker.hello['scratch']}/tmp" if inside else str(longer))
        assert ("TORCHINDUCTOR_CACHE_DIR" in told) == inside
        assert not inside or Path(told["TORCHINDUCTOR_CACHE_DIR"]).parent == longer


@pytest.mark.parametrize(("role", "blas"), [("compile", "1"), ("cpu", "1"), ("gpu", None)])
def test_libraries_imported_later_compute_on_as_many_threads_as_are_allowed(
    start: StartWorker, monkeypatch: pytest.MonkeyPatch, role: str, blas: str | None
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    worker = start()
    worker.start_executor("a", role, environment={"KERNELBAND_THREADS": "3"})
    told = worker.call("a", "facts", {}, 60)["environment"]
    assert [told.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")] == ["3", "3", blas]


def test_two_hundred_calls_at_once_come_back_each_to_its_own(worker: Worker) -> None:
    futures = [worker.submit("a", "echo", {"n": n}, 20) for n in range(200)]
    assert [f.result(60)["params"]["n"] for f in futures] == list(range(200))


def test_fifty_megabytes_there_and_back(worker: Worker) -> None:
    text = "kernelband" * 5_000_000
    assert worker.call("a", "large", {"text": text}, 60)["text"] == text


def test_what_is_printed_is_log_and_never_protocol(start: StartWorker) -> None:
    log = Log()
    worker = start(on_log=log)
    worker.start_executor("a", "cpu")
    assert worker.call("a", "prints", {}, 60) == {"read": ""}  # nothing to read on stdin either
    worker.call("a", "echo", {}, 60)
    end = time.monotonic() + 60
    while "käse" not in log.of("a") and time.monotonic() < end:
        time.sleep(0.02)
    assert all(text in log.of("a") for text in ("from print", "from fd 1\nContent-Length: 5", "from a child", "käse"))


def test_a_flood_of_prints_is_cut_and_the_deadline_holds(start: StartWorker) -> None:
    log = Log()
    worker = start(on_log=log)
    worker.start_executor("a", "cpu")
    worker.call("a", "echo", {}, 60)
    with pytest.raises(ExecutorFault, match="took longer"):
        worker.call("a", "flood", {}, 5)
    assert 900_000 < len(log.of("a")) < 1_200_000
    assert "more output of this call is left out" in log.of("a")


def test_executors_are_alone(start: StartWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("HF_TOKEN", "hf")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PLAIN", "stays")
    worker = start()
    worker.start_executor("a", "cpu", environment={"ADDED": "yes", "HF_TOKEN": "given on purpose"})
    facts = worker.call("a", "facts", {}, 60)
    env = facts["environment"]
    assert facts["pid"] == facts["group"] == facts["session"] != worker.hello["pid"]
    assert facts["stdin"] == "/dev/null"
    assert facts["same"]  # fd 1 is fd 2
    assert facts["cwd"].startswith(worker.hello["scratch"])
    assert "" not in facts["path"]
    assert (env["PLAIN"], env["ADDED"], env["HF_TOKEN"]) == ("stays", "yes", "given on purpose")
    assert not {"OPENAI_API_KEY", "SSH_AUTH_SOCK", "DISPLAY", "SSH_ASKPASS"} & set(env)
    supervisor = Path("/proc", str(worker.hello["pid"]), "environ").read_bytes()
    assert b"sk-1" not in supervisor


def test_which_gpu_an_executor_sees(start: StartWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-abc")  # as a scheduler narrows it
    worker = start()
    for name, role, gpu, seen in [
        ("a", "cpu", None, ""),
        ("b", "compile", None, ""),
        ("c", "gpu", None, "4,GPU-abc"),
        ("d", "gpu", 1, "GPU-abc"),
    ]:
        worker.start_executor(name, role, gpu)
        facts = worker.call(name, "facts", {}, 60)
        assert facts["environment"]["CUDA_VISIBLE_DEVICES"] == seen
        assert facts["nice"] == os.nice(0)
    with pytest.raises(WorkerError, match="There is no GPU 2 here"):
        worker.start_executor("e", "gpu", 2)


def test_files_come_by_hash_and_once(start: StartWorker) -> None:
    content = "x = 'ü'\r\n".encode()
    files = Files({"user.module": content})
    worker = start(files=files)
    sha256 = hashlib.sha256(content).hexdigest()
    for name in ("a", "b"):
        worker.start_executor(name, "cpu")
        found = worker.call(name, "ask", {"method": "module/find", "params": {"name": "user.module"}}, 60)
        assert found["answer"]["sha256"] == sha256
        blob = worker.call(name, "ask", {"method": "blob/get", "params": {"sha256": sha256}}, 60)
        assert blob["answer"]["base64"] == "eCA9ICfDvCcNCg=="
    assert files.asked.count(sha256) == 1
    assert worker.call("a", "ask", {"method": "module/find", "params": {"name": "numpy"}}, 60) == {"answer": None}
    assert worker.call("a", "ask", {"method": "module/names", "params": {}}, 60) == {"answer": {"names": ["user"]}}


def test_a_file_that_the_engine_lacks_is_a_sentence(worker: Worker) -> None:
    with pytest.raises(WorkloadError, match="no file with the hash"):
        worker.call("a", "ask", {"method": "blob/get", "params": {"sha256": "0" * 64}}, 60)
    with pytest.raises(WorkerError, match="doesn't know 'secrets/get'"):
        worker.call("a", "ask", {"method": "secrets/get", "params": {}}, 60)


def test_content_with_another_hash_is_refused(start: StartWorker) -> None:
    class Wrong(Files):
        def blob(self, sha256: str) -> bytes:
            return b"something else"

    worker = start(files=Wrong())
    worker.start_executor("a", "cpu")
    with pytest.raises(WorkerError, match="has another hash"):
        worker.call("a", "ask", {"method": "blob/get", "params": {"sha256": "0" * 64}}, 60)


def test_a_fault_of_the_engine_leaves_nobody_waiting(start: StartWorker) -> None:
    class Broken(Files):
        def find_module(self, name: str) -> None:
            raise ZeroDivisionError

    worker = start(files=Broken())
    worker.start_executor("a", "cpu")
    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        worker.call("a", "ask", {"method": "module/find", "params": {"name": "x"}}, 60)


def test_several_threads_of_a_program_may_ask(start: StartWorker) -> None:
    worker = start(files=Files({f"m{n}": b"" for n in range(20)}))
    worker.start_executor("a", "cpu")
    assert worker.call("a", "threads", {}, 60) == {"right": True}


@pytest.mark.parametrize(
    ("operation", "params", "kind", "words"),
    [
        ("fail", {"message": "A sentence.", "kind": "entry_failed"}, "entry_failed", "A sentence."),
        ("internal", {}, "internal", "ZeroDivisionError: a bug"),
        ("quits", {}, "entry_failed", r"sys.exit\(3\)"),
        ("not_json", {}, "internal", "not JSON serializable"),
        ("nothing", {}, "bad_request", "no operation 'nothing'"),
    ],
)
def test_an_operation_that_fails_leaves_its_executor_alive(
    worker: Worker, operation: str, params: dict[str, str], kind: str, words: str
) -> None:
    before = worker.call("a", "echo", {}, 60)["pid"]
    with pytest.raises((WorkerError, WorkloadError), match=words) as caught:
        worker.call("a", operation, params, 60)
    assert caught.value.kind == kind
    assert worker.call("a", "echo", {}, 60)["pid"] == before


def test_a_forked_copy_does_not_answer_twice(worker: Worker) -> None:
    child = worker.call("a", "forks", {}, 60)["pid"]
    assert child > 0
    assert worker.call("a", "echo", {}, 60)["pid"] != child


def test_no_such_executor_and_bad_requests(worker: Worker) -> None:
    with pytest.raises(ExecutorFault, match="No executor 'b' is running"):
        worker.call("b", "echo", {}, 60)
    with pytest.raises(WorkerError, match="one of the roles"):
        worker.start_executor("b", "tpu")
    with pytest.raises(WorkerError, match="positive deadline"):
        worker.call("a", "echo", {}, 0)
    worker.stop_executor("never was")


def test_an_executor_of_the_same_name_replaces_the_old(worker: Worker) -> None:
    future = worker.submit("a", "sleep", {"seconds": 600}, 600)
    worker.start_executor("a", "cpu")
    with pytest.raises(ExecutorFault, match="was stopped"):
        future.result(60)
    assert worker.call("a", "echo", {"n": 1}, 60)["params"] == {"n": 1}


def test_waiting_behind_another_call_does_not_count(worker: Worker) -> None:
    first = worker.submit("a", "sleep", {"seconds": 4.0}, 60)
    second = worker.submit("a", "sleep", {"seconds": 0.1}, 3.0)
    assert second.result(60) == {"slept": 0.1}
    assert first.done()


def test_a_closed_worker_refuses_at_once(start: StartWorker) -> None:
    worker = start()
    worker.start_executor("a", "cpu")
    future = worker.submit("a", "sleep", {"seconds": 60}, 60)
    worker.close()
    with pytest.raises((WorkerError, ExecutorFault)):
        future.result(50)
    with pytest.raises(WorkerError, match="is gone"):
        worker.call("a", "echo", {}, 60)


def test_progress_and_threads_of_the_engine(start: StartWorker) -> None:
    told: list[tuple[str, str]] = []
    worker = start(on_progress=lambda name, text: told.append((name, text)))
    worker.start_executor("a", "cpu")
    worker.call("a", "echo", {}, 60)
    with pytest.raises(ExecutorFault):
        worker.call("a", "children", {"hang": True}, 6)
    assert len(told[0][1].split()) == 3
    answers: list[int] = []

    def use(name: str) -> None:
        worker.start_executor(name, "cpu")
        answers.extend(worker.call(name, "echo", {"n": n}, 60)["params"]["n"] for n in range(20))

    threads = [threading.Thread(target=use, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(answers) == sorted(list(range(20)) * 4)


def test_the_handle_is_fresh_for_the_next_call(start: StartWorker) -> None:
    asked: list[str] = []

    def variants(name: str) -> VariantFiles:
        asked.append(name)
        return {"id": name, "files": []}

    worker = start(command())
    with Executor(worker, "a", "cpu", session={"id": "s"}, variants=variants) as executor:
        first = executor.call("echo", {"variant": "v"}, 60)["pid"]
        executor.call("echo", {"variant": "v"}, 60)
        executor.call("echo", {"variant": None}, 60)
        assert asked == ["v"]
        assert executor.call("opened", {}, 60) == {"opened": [{"id": "s"}], "loaded": ["v"]}
        with pytest.raises(ExecutorFault) as caught:
            executor.call("spin", {}, 1.0)
        assert caught.value.fault == "timeout"
        second = executor.call("echo", {"variant": "v"}, 60)["pid"]
        assert second != first
        assert asked == ["v", "v"]
        with pytest.raises(ExecutorFault) as caught:
            executor.call("no_memory", {}, 60)
        assert caught.value.fault == "oom"
        assert executor.call("opened", {}, 60) == {"opened": [{"id": "s"}], "loaded": []}
        executor.restart()
        assert executor.call("echo", {}, 60)["pid"] not in (first, second)

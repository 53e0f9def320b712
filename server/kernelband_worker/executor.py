"""The worker's second process: torch, the user's code, one operation at a time.

Its protocol has descriptors of its own before anything of the user's is imported; fd 1 is stderr, so prints are log. It ends itself
and its group when the supervisor is gone.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import queue
import signal
import sys
import threading
import traceback
from typing import Any, BinaryIO, Callable, Dict, List, Mapping, Optional, cast

from kernelband_worker import bytecode, frames, nursery, system
from kernelband_worker.errors import OperationFailed, is_out_of_memory, says_out_of_memory
from kernelband_worker.state import State
from kernelband_worker.streams import take_streams
from kernelband_worker.wire import EXECUTOR_DIED, NICE, OPERATION_FAILED, SCRATCH, THREADS, ErrorData

#: Operation -> "module:function", imported at first use. A function takes (State, params) and returns the result.
OPERATIONS: Mapping[str, str] = {
    "environment": "kernelband_worker.environment:environment",
    "session/open": "kernelband_worker.session:open_session",
    "capture": "kernelband_worker.cases.capture:capture",
    "variant/load": "kernelband_worker.session:load_variant",
    "import": "kernelband_worker.session:import_modules",
    "specialise": "kernelband_worker.compiler.specialise:specialise",
    "compile": "kernelband_worker.compiler.compile:compile_launch",
    "traffic": "kernelband_worker.cases.traffic:traffic",
    "check": "kernelband_worker.compare:check",
    "hide": "kernelband_worker.cases.hidden:hide",
    "time": "kernelband_worker.measure.time:time",
    "prepare": "kernelband_worker.measure.prepare:prepare",
    "survey": "kernelband_worker.measure.turn:survey",
    "turn": "kernelband_worker.measure.turn:turn",
    "reveal": "kernelband_worker.measure.turn:reveal",
    "referee": "kernelband_worker.measure.referee:referee",
    "profile": "kernelband_worker.measure.profile:profile",
    "entry/run": "kernelband_worker.cases.entry:run_entry",
}

_CRASH_EXIT = 70
_TRACE_LINES = 40


def main(operations: Mapping[str, str] = OPERATIONS) -> None:
    """Serve calls until the supervisor leaves.

    ``sys.argv`` is (-c, role, pid of the supervisor), and where the first of its kind is to leave a nursery behind, the descriptor for it.
    """
    role, parent, *connection = sys.argv[1], *map(int, sys.argv[2:])
    system.die_with_parent(parent)
    sys.argv[:] = ["kernelband"]
    bytecode.keep_in(os.path.join(os.environ[SCRATCH], "bytecode"))
    reader, writer = take_streams()
    faulthandler.enable()
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1)  # at a deadline: where it hangs, into the log
    for descriptor in connection:
        born = nursery.leave_behind(descriptor, parent, (reader, writer), _modules(role, operations))
        if born is not None:  # here goes on whoever the nursery has forked
            role, (reader, writer) = born, take_streams()
    system.be_nice(int(os.environ.pop(NICE, "0")))
    _compute_on(int(os.environ.pop(THREADS, "0")))
    Executor(role, reader, writer, operations).run()


def _compute_on(threads: int) -> None:
    """At most so many threads; 0 leaves it to the libraries, which read their variables when they are imported."""
    torch = sys.modules.get("torch")
    if threads and torch is not None:
        torch.set_num_threads(threads)
    elif threads:
        os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)))


def _modules(role: str, operations: Mapping[str, str]) -> List[str]:
    """What an executor imports as its session is opened, and for its operations."""
    found = ["kernelband_worker.loader", "kernelband_worker.triton_versions"] + ["kernelband_worker.cpu.device"] * (role != "gpu")
    return found + [place.partition(":")[0] for place in operations.values()]


class Executor:
    """The loop. The main thread runs operations; a second one reads, so that end of input is seen at once."""

    def __init__(self, role: str, reader: BinaryIO, writer: BinaryIO, operations: Mapping[str, str]) -> None:
        self._reader, self._writer, self._operations = reader, frames.Writer(writer), operations
        self._calls: queue.SimpleQueue[Dict[str, Any]] = queue.SimpleQueue()
        self._answers: Dict[int, queue.SimpleQueue[Dict[str, Any]]] = {}
        self._numbers = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._state = State(role=role, ask=self._ask, tell=self._tell)

    def run(self) -> None:
        """Serve; ends with the process."""
        threading.Thread(target=self._read, daemon=True, name="kernelband protocol").start()
        while True:
            call = self._calls.get()
            answer, usable = self._serve(call)
            if os.getpid() != self._pid:
                os._exit(0)  # the user's program has forked, and the copy came back here
            self._writer.send(answer)
            if not usable:
                os._exit(_CRASH_EXIT)

    def _read(self) -> None:
        try:
            while True:
                message = frames.read(self._reader)
                if message is None:
                    break
                if "method" in message:
                    self._calls.put(message)
                    continue
                with self._lock:
                    waiting = self._answers.pop(message.get("id", -1), None)
                if waiting is not None:
                    waiting.put(message)
        finally:
            system.end_own_group()

    # ------------------------------------------------------------ State.ask and State.tell

    def _ask(self, method: str, params: Dict[str, Any]) -> Any:
        answer: queue.SimpleQueue[Dict[str, Any]] = queue.SimpleQueue()
        with self._lock:
            self._numbers += 1
            number = self._numbers
            self._answers[number] = answer
        self._writer.send(frames.request(number, method, params))
        message = answer.get()
        error = message.get("error")
        if error is not None:
            data = dict(error.get("data") or {})
            raise OperationFailed(str(error.get("message")), str(data.pop("kind", "internal")), **data)
        return message.get("result")

    def _tell(self, method: str, params: Dict[str, Any]) -> None:
        self._writer.send(frames.notification(method, params))

    # ------------------------------------------------------------ one call

    def _serve(self, call: Dict[str, Any]) -> tuple[Dict[str, Any], bool]:
        """The answer, and whether this process can go on."""
        number, operation = call.get("id"), str(call.get("method"))
        try:
            result = _resolve(self._operations, operation)(self._state, call.get("params") or {})
            answer = frames.response(number, result)
            frames.encode(answer)
        except BaseException as error:  # noqa: BLE001  # whatever the user's program raises, SystemExit and KeyboardInterrupt included
            answer = _failed(number, operation, error)
            out_of_memory = answer["error"]["data"].get("kind") == "out_of_memory"
            error.__traceback__ = error.__context__ = error.__cause__ = None  # frames hold tensors
        else:
            return answer, True
        if out_of_memory:
            _free()
        unusable = _cuda_error() if self._state.role == "gpu" else None
        if unusable is not None:
            data: ErrorData = {"detail": unusable}
            if detail := answer["error"]["data"].get("detail"):
                data["detail"] = f"{unusable}\n{detail}"
            sentence = f"CUDA can't be used any more after {operation}: {unusable.splitlines()[0]}"
            if says_out_of_memory(unusable):
                data["kind"] = "out_of_memory"
                sentence = (
                    f"The GPU had no memory left during {operation} ({unusable.splitlines()[0]}). Other processes on it may hold the rest."
                )
            return frames.failure(number, EXECUTOR_DIED, sentence, data), False
        return answer, True


def _resolve(operations: Mapping[str, str], operation: str) -> Callable[[State, Dict[str, Any]], Any]:
    place = operations.get(operation)
    if place is None:
        raise OperationFailed(f"This worker has no operation {operation!r}.", "bad_request")
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        from kernelband_worker.environment import missing

        if error.name in ("torch", "triton", "numpy"):
            raise missing(error.name) from error
        raise


def _failed(number: Any, operation: str, error: BaseException) -> Dict[str, Any]:
    data: ErrorData
    if isinstance(error, OperationFailed):
        data = cast("ErrorData", {"kind": error.kind, **error.data})
        return frames.failure(number, OPERATION_FAILED, error.message, data)
    text = f"{type(error).__name__}: {error}"
    if is_out_of_memory(error):
        sentence = f"There wasn't enough memory for {operation}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        return frames.failure(number, OPERATION_FAILED, sentence, {"kind": "out_of_memory", "detail": text})
    tail = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()[-_TRACE_LINES:]
    if isinstance(error, SystemExit):
        sentence = f"The program ended itself during {operation} (sys.exit({error.code!r}))."
        return frames.failure(number, OPERATION_FAILED, sentence, {"kind": "entry_failed", "detail": "\n".join(tail)})
    sentence = f"KernelBand's worker failed in {operation} ({text.splitlines()[0][:200]}). That is a fault of KernelBand: please report it."
    return frames.failure(number, OPERATION_FAILED, sentence, {"kind": "internal", "detail": "\n".join(tail)})


def _free() -> None:
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _cuda_error() -> Optional[str]:
    """What CUDA says if it can't be used any more; None if it can, or never was. An asynchronous error shows here too."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return None
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:  # torch.AcceleratorError is one
        return str(error) or type(error).__name__
    return None

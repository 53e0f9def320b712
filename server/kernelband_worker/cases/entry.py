"""Run the user's entry: a callable, a pytest node or a script, in a scratch folder, with what it prints kept."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import os
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from typing import Any, Callable, Collection, Dict, Iterator, List, Optional

from kernelband_worker.cases import seeds
from kernelband_worker.cases.alarm import Alarm
from kernelband_worker.cases.pytest_entry import Sets, run_node
from kernelband_worker.cases.recording import StopCapture
from kernelband_worker.cases.watch import Watched, watching
from kernelband_worker.errors import OperationFailed, is_out_of_memory
from kernelband_worker.launches import observe
from kernelband_worker.reports import run_report, smallest, spread
from kernelband_worker.state import State
from kernelband_worker.wire import SCRATCH, Function

IMPORTING_S = 20.0  # that an entry which is a proof may take for that, besides
SETS_S = 20.0  # after so many no further parameter set of a proof begins
_TAIL = 8000
_SKIPS = ("Skipped", "SkipTest")


@dataclass
class Failure:
    """What the entry raised, for showing under our sentence."""

    text: str  # "AssertionError: ..."
    assertion: bool
    path: Optional[str]
    line: Optional[int]
    detail: str
    memory: bool = False  # there was none left

    def place(self) -> str:
        """`` (FILE, line N)`` where it is known."""
        return f" ({self.path}, line {self.line})" if self.path else ""


@dataclass
class Outcome:
    """One run of the entry."""

    failure: Optional[Failure]
    stopped: bool  # by StopCapture: enough was seen, or the time was up
    output: str
    seconds: float
    importing: bool  # it was still being imported
    missing: Optional[str] = None  # memory: where that stopped it


class _Tee(io.TextIOBase):
    """Passes text on and keeps its tail."""

    def __init__(self, to: Any) -> None:
        self._to, self.kept = to, ""

    def write(self, text: str) -> int:
        self.kept = (self.kept + text)[-_TAIL:]
        if self._to is not None:
            self._to.write(text)
        return len(text)

    def flush(self) -> None:
        if self._to is not None:
            self._to.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        if sys.__stderr__ is None:
            raise io.UnsupportedOperation("fileno")
        return sys.__stderr__.fileno()


def run(state: State, entry: Dict[str, Any], alarm: Alarm, number: int = 0, sets: Optional[Sets] = None) -> Outcome:
    """Run the entry once, unless the alarm interrupts it. ``number`` above 0 shifts its seeds; ``sets``: of a test, not all need run.

    Raises:
        OperationFailed: the entry isn't there, needs arguments, or pytest is missing.
    """
    begin = time.monotonic()
    tee = _Tee(sys.stderr if number == 0 else None)  # what further runs print is no news
    failure, stopped, memory = None, False, _memory(state)
    if memory is not None:
        memory.missing = None
    with _scratch(), contextlib.redirect_stdout(tee), contextlib.redirect_stderr(tee), seeds.shifted(number):
        seeds.seed_everything((state.session or {}).get("seed", 0) + number)
        try:
            with alarm.set():
                _action(state, entry, alarm, sets)()
                _synchronize(state)
        except StopCapture:
            stopped = True
        except OperationFailed as error:
            if not _is_our_stop(error) and not alarm.rang:
                raise
            stopped = True
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if type(error).__name__ in _SKIPS:  # pytest's and unittest's, in a function that neither of them runs
                sentence = f"The entry {entry['name']} in {entry['path']} doesn't run: it skips itself ({error})."
                raise OperationFailed(sentence, "entry_failed") from error
            # numpy says a TypeError of its own, without a word of why, where what it calls back is stopped.
            stopped = _is_our_stop(error) or (alarm.rang and not isinstance(error, AssertionError))
            if not stopped and not (isinstance(error, SystemExit) and error.code in (0, None)):
                failure = _failure(state, error)
    importing = stopped and entry["kind"] != "script" and entry["module"] not in sys.modules
    missing = _missing(memory, failure)
    failure = None if missing is not None else failure  # on a larger machine it would have gone on
    return Outcome(failure, stopped, tee.kept, time.monotonic() - begin, importing, missing)


def _missing(memory: Any, failure: Optional[Failure]) -> Optional[str]:
    """Why there is no memory for a tensor, where that is what ended the entry; it may also have found a way without."""
    if failure is None:
        return None
    if memory is not None:
        return memory.missing if memory.missing is not None and memory.missing in failure.text else None
    return f"there is no memory left ({failure.text.splitlines()[0]})" if failure.memory else None


def _memory(state: State) -> Any:
    if state.role != "cpu":
        return None
    from kernelband_worker.cpu.machine import machine_of

    return machine_of(state).memory


def run_entry(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """Operation entry/run: the user's own entry, with its asserts, the variant under the original's names. Needs a fresh executor.

    Raises:
        OperationFailed: the executor has loaded the modules already, or there is no such entry.
    """
    edited: Collection[str] = ()
    if params.get("variant"):
        state.opened.impersonate(params["variant"])
        edited = state.opened.edited(params["variant"])
    seconds, proven, sets = params.get("seconds", 60.0), params.get("kernels"), Sets(SETS_S)

    def guessed(kernel: Function) -> bool:
        other = proven is not None and f"{kernel['module']}:{kernel['qualname']}" not in proven
        return other and kernel["module"] not in edited  # where a variant may have added it, or called it otherwise

    with watching(Watched()), observe(state, lambda _event: None, programs=0, guessed=guessed):
        outcome = run(state, params["entry"], Alarm(seconds, at_most=seconds + IMPORTING_S), sets=sets)
    name, reason = params["entry"]["name"], None
    if outcome.missing is not None:
        reason = f"The entry {name} can't be run here: {outcome.missing}."
    elif outcome.stopped:
        reason = f"The entry {name} took more than {seconds:.0f} s."
    elif outcome.failure is not None:
        reason = f"The entry {name} fails: {outcome.failure.text.splitlines()[0]}{outcome.failure.place()}"
    partly = f"The first {sets.ran} of {sets.total} parameter sets of {name} were run: all would take too long." if sets.partly else None
    return {"ok": reason is None, "reason": reason or partly, "output": outcome.output, "seconds": outcome.seconds}


# ---------------------------------------------------------------------- the three kinds


def _action(state: State, entry: Dict[str, Any], alarm: Alarm, sets: Optional[Sets]) -> Callable[[], Any]:
    if entry["kind"] == "script":
        return lambda: state.opened.run_main(entry["module"])
    if entry["kind"] == "pytest":
        if importlib.util.find_spec("pytest") is None:
            raise OperationFailed(
                f"The test {entry['name']} needs fixtures or parameters, and pytest isn't installed in the worker's Python: "
                "install it there, or name a function without arguments as the entry.",
                "entry_failed",
            )
        return lambda: run_node(state, entry, alarm, sets)
    with alarm.importing():
        return _callable(state, entry)


def _callable(state: State, entry: Dict[str, Any]) -> Callable[[], Any]:
    found: Any = state.opened.original(entry["module"])
    for part in entry["name"].replace("::", ".").split("."):
        owner, found = found, getattr(found, part, None)
        if found is None:
            raise OperationFailed(f"There is no {entry['name']} in {entry['path']}: name an entry that is there.", "entry_failed")
        if isinstance(owner, type) and inspect.isfunction(found):
            found = getattr(owner(), part)
    if hasattr(found, "benchmarks") and hasattr(found, "fn"):
        return lambda: run_report(found, smallest if state.role == "cpu" else spread)
    if not callable(found):
        raise OperationFailed(f"{entry['name']} in {entry['path']} isn't a function: name a callable without arguments.", "entry_failed")
    with contextlib.suppress(ValueError, TypeError):  # no signature: calling will tell
        needed = [p.name for p in inspect.signature(found).parameters.values() if p.default is p.empty and p.kind in (0, 1, 3)]
        if needed:
            raise OperationFailed(
                f"{entry['name']} in {entry['path']} needs arguments ({', '.join(needed)}): name a callable without required arguments.",
                "entry_failed",
            )
    return found


# ---------------------------------------------------------------------- around it


@contextlib.contextmanager
def _scratch() -> Iterator[None]:
    """A private working folder that goes away afterwards: in the worker's scratch folder, so also when this process is killed."""
    before, argv = os.getcwd(), sys.argv[:]
    folder = tempfile.mkdtemp(prefix="entry-", dir=os.environ.get(SCRATCH))
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.argv[:] = argv
        shutil.rmtree(folder, ignore_errors=True)


def _synchronize(state: State) -> None:
    if state.role == "gpu":
        import torch

        torch.cuda.synchronize()


def _is_our_stop(error: Optional[BaseException]) -> bool:
    """Whether it came of a StopCapture that an import, pytest or the program made another error of."""
    seen: List[BaseException] = []
    while error is not None and error not in seen:
        if isinstance(error, StopCapture):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


def _failure(state: State, error: BaseException) -> Failure:
    path, line = None, None
    for frame, number in traceback.walk_tb(error.__traceback__):
        place = state.opened.place(frame.f_code)
        if place is not None:
            path, line = place["path"], number
    if isinstance(error, SyntaxError) and error.filename:
        path, line = error.filename, error.lineno
    said = "".join(traceback.format_exception_only(type(error), error)).strip()
    lines: List[str] = [f"{path}, line {line}"] if path else []
    return Failure(said, isinstance(error, AssertionError), path, line, "\n".join([*lines, said]), is_out_of_memory(error))


def failure_data(failure: Failure) -> Dict[str, Any]:
    """ErrorData of a failure."""
    data: Dict[str, Any] = {"detail": failure.detail}
    if failure.path:
        data.update(path=failure.path, line=failure.line)
    return data

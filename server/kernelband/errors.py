"""Every error that a user can meet, in one tree.

    KernelBandError
    ├── SourceError          the text: not found, not readable, no such kernel, several and none named
    │   └── StaleText        an edit refuses text that it was not made for
    ├── WorkloadError        the user's program: no entry, it fails, it never launches the kernel, it can't be replayed
    ├── WorkerError          the other Python: not one, too old, torch or Triton missing, unreachable
    │   └── ExecutorFault    an executor timed out, died or ran out of memory; costs a trial, never the run
    ├── HardwareError        an unknown GPU, none where one is needed
    ├── ModelError           a model that is the only author can't be asked
    ├── HistoryError         the database: corrupt, newer, locked, no such run or variant
    ├── NotComparable        a proof of another protocol, GPU or version than those here
    └── UsageError           a wrong option or budget

The message is one clear sentence for the person: what happened, why, what to do. ``detail`` is shown under it (the program's
own error, say); never a traceback of ours. ``kind`` is a word that code can branch on, empty or one of ``wire.ERROR_KINDS``.
``terminal`` is what a person can do who types commands: said behind the message there, and nowhere else.
"""

from __future__ import annotations


class KernelBandError(Exception):
    """Base of the tree. ``exit_code`` is what the command line exits with (docs/cli.md)."""

    exit_code = 1

    def __init__(self, message: str, *, detail: str = "", kind: str = "", terminal: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.kind = kind
        self.terminal = terminal


class UsageError(KernelBandError):
    """A wrong option, budget or argument."""

    exit_code = 2


class SourceError(KernelBandError):
    """The text can't be used: missing, unreadable, without the kernel, or ambiguous."""

    exit_code = 3


class StaleText(SourceError):
    """An edit was made for another text than the one at hand."""


class WorkloadError(KernelBandError):
    """The user's program can't serve as a workload."""

    exit_code = 4


class WorkerError(KernelBandError):
    """The worker's Python can't be used or reached."""

    exit_code = 5


class ExecutorFault(WorkerError):
    """An executor ended a call: ``fault`` is ``timeout``, ``crashed`` or ``oom`` (JUDGING, results). ``ended``: how its process did, where
    it did by itself: "exit code 3", "SIGSEGV".
    """

    def __init__(self, message: str, *, fault: str, detail: str = "", kind: str = "", ended: str = "") -> None:
        super().__init__(message, detail=detail, kind=kind)
        self.fault, self.ended = fault, ended


class HardwareError(KernelBandError):
    """An unknown GPU, or none where one is needed."""

    exit_code = 6


class ModelError(KernelBandError):
    """The model that is to write variants can't be asked: refused, unreachable, out of its caps."""

    exit_code = 8


class HistoryError(KernelBandError):
    """The database can't be used, or holds no such run or variant."""

    exit_code = 7


class NotComparable(KernelBandError):
    """A proof says nothing of what is here: it was made by another protocol, on another GPU, with other versions."""

    exit_code = 11

"""What the parts of finals.py share: examples one after the other, on each GPU one, as far as the call's seconds go; finals by process."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from gpus import FailedError, Lane, ended, spread
from ledger import Allowance, Ledger
from targets import label

HERE = Path(__file__).resolve().parent
SERVER = HERE.parent / "server"
SETUP_S = 40.0  # until an example is captured and compiled, as long as none was
FINAL_S = 20.0  # of a final, as long as none was seen
GRACE_S = 30.0  # beyond the call's seconds, for what has begun

Work = Callable[[Path, Lane], Iterable[str]]


class LaterError(Exception):
    """It doesn't fit into this call any more."""


@frozen
class Played:
    """What a process of finals wrote. ``error``: one sentence where it didn't come to its end."""

    device: str
    versions: str
    finals: list[dict[str, Any]]
    error: str


@frozen
class Context:
    """One call of finals.py: a subcommand, its options, the results so far, the seconds it has."""

    step: str
    options: argparse.Namespace
    ledger: Ledger
    allowance: Allowance
    lanes: Sequence[Lane]

    def each(self, targets: Sequence[Path], work: Work) -> int:
        """Works on each example and prints what that says. One that fails is kept as such, and is tried again in the next call.

        Returns:
            How many were left for another call.
        """
        left = 0
        for target, outcome in spread(targets, self.lanes, lambda target, lane: list(work(target, lane))):
            if isinstance(outcome, LaterError):
                left += 1
                continue
            if isinstance(outcome, Exception):
                said = str(outcome) if isinstance(outcome, FailedError) else f"{type(outcome).__name__}: {outcome}"
                self.ledger.add(self.step, label(target), error=said)
                print(f"{label(target)}: {said}", flush=True)
                continue
            for line in outcome:
                print(line, flush=True)
        return left

    def need(self, seconds: float) -> None:
        """Raises:
        LaterError: so many seconds aren't left.
        """
        if not self.allowance.fits([seconds]):
            raise LaterError

    @property
    def limit(self) -> float:
        """Seconds after which a process is ended."""
        return max(1.0, min(self.options.limit, self.allowance.left + GRACE_S))

    def environment(self, lane: Lane, server: Path = SERVER) -> dict[str, str]:
        """Of a process on that GPU which finds KernelBand in ``server``, in whatever folder it runs."""
        known = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        return {**lane.environment, "PYTHONPATH": os.pathsep.join([str(server.resolve()), *known])}

    def play(
        self,
        target: Path,
        lane: Lane,
        candidates: Sequence[Mapping[str, Any]],
        finals: Sequence[Mapping[str, Any]],
        *,
        server: Path = SERVER,
        device: str | None = None,
    ) -> Played:
        """Finals of an example in a new process (final_process.py); those that would end too late are left out.

        Raises:
            LaterError: not even the first one fits.
            FailedError: there is none.
        """
        setup_s, final_s = (self.ledger.longest(self.step, name, guess) for name, guess in (("setup_s", SETUP_S), ("seconds", FINAL_S)))
        self.need(setup_s + final_s)
        with tempfile.TemporaryDirectory() as folder:
            job, out = Path(folder, "job.json"), Path(folder, "out.jsonl")
            given: dict[str, Any] = {
                "target": str(target),
                "entry": self.options.entry,
                "python": self.options.python,
                "worker": self.options.worker,
                "candidates": candidates,
                "finals": finals,
                "seconds": min(self.allowance.left, self.limit),
                "guess_s": final_s,
                "device": device,
            }
            job.write_text(json.dumps(given))
            error = ""
            try:
                command = [sys.executable, str(HERE / "final_process.py"), str(job), str(out)]
                done = ended(command, self.limit, self.environment(lane, server))
                error = done.last if done.code else ""
            except FailedError as failed:
                error = str(failed)
            lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return played(lines, error, server)


def played(lines: Sequence[Mapping[str, Any]], error: str, server: Path) -> Played:
    """Of the lines that the process wrote.

    Raises:
        FailedError: it never got as far as a final, or another judge than wanted judged.
        LaterError: it did without an error: nothing fitted.
    """
    opened = next((line["opened"] for line in lines if "opened" in line), None)
    finals = [dict(line) for line in lines if "final" in line]
    if opened is not None and not Path(opened["judge"]).resolve().is_relative_to(server.resolve()):
        raise FailedError(f"The judge of {opened['judge']} was used, not the one in {server}: KernelBand is installed over it.")
    if opened is None or (not finals and error):
        raise FailedError(error or "It ended without a word.")
    if not finals:
        raise LaterError
    return Played(opened["device"], opened["versions"], finals, error)


def text_of(target: Path) -> tuple[str, str]:
    """The name of the file of ``FILE`` or ``FILE::KERNEL``, and its text."""
    file = Path(str(target).partition("::")[0])
    return file.name, file.read_text(encoding="utf-8")


def copy(target: Path, number: int, *, ours: bool) -> dict[str, Any]:
    """The original with one more comment line: another variant, loaded and compiled as one, that runs the same machine code."""
    name, text = text_of(target)
    return {"texts": {name: f"# The same code, copy {number}.\n{text}"}, "numerics": "exact", "ours": ours}


def ratio(found: Mapping[str, Any], digits: int = 4) -> str:
    if found["ratio"] is None:
        return "no ratio"
    value, low, high = (format(found[name], f".{digits}f") for name in ("ratio", "low", "high"))
    return f"{value} ({low} to {high})"


def spans(spent: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent.items())


def where(records: Iterable[Mapping[str, Any]]) -> str:
    """On what the results were made."""
    return "; ".join(sorted({f"{r['device']}, {r['versions']}" for r in records}))

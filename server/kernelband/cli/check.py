"""``kernelband check``: a proof judged again, here."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from kernelband.cli.failure import INTERRUPTED, say
from kernelband.cli.optimize import interruptible, require_search, view_of
from kernelband.cli.output import echo
from kernelband.cli.target import db_option
from kernelband.cli.where import worker_options
from kernelband.errors import NotComparable, UsageError
from kernelband.explain.confirm import Answer, changed, confirm, differs
from kernelband.explain.kept import read
from kernelband.explain.prooffile import read_proof
from kernelband.explain.proofshape import Proof
from kernelband.explain.prove import Ground, ground, prove
from kernelband.history import Store, find_place, runs
from kernelband_worker.wire import NUMERICS

if TYPE_CHECKING:
    from kernelband.search.options import Options
    from kernelband.search.worker_lab import WorkerLab

NOT_CONFIRMED = 10
SECONDS = 60.0


@click.command()
@click.argument("proof", metavar="FILE")
@worker_options
@click.option("--gpu", metavar="NAME", help="The GPU that the proof must be about. Default: the one that it names.")
@click.option(
    "--seconds", type=float, default=SECONDS, show_default=True, help="Time limit in seconds. If judging takes longer, there is no verdict."
)
@db_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each event.")
def check(proof: str, gpu: str | None, seconds: float, db: str | None, as_json: bool, **reached: str | None) -> int:
    """Check a proof again, on this machine and on the files of the current folder or its project.

    It runs your program with the edit that the proof contains: read the edit first if you don't know who made it. It reports whether the
    proof is confirmed, or what differs; a proof of another GPU or of other versions can't be compared.
    """
    if not seconds > 0:
        raise UsageError(f"Nothing can be judged in {seconds:g} seconds: give --seconds more than 0.")
    known = read_proof(proof)
    _require_gpu(known, gpu)
    there = ground(known, os.getcwd())
    if there.changed:
        return _end(changed(there.changed[0]), as_json)
    place = find_place(db)
    require_search()
    if place.note:
        say(place.note)
    answer = _judged(known, _options(known, there, reached), place.path, seconds, as_json)
    return INTERRUPTED if answer is None else _end(answer, as_json)


def _require_gpu(proof: Proof, gpu: str | None) -> None:
    """Raises:
    HardwareError: one of the two is unknown.
    NotComparable: they are two.
    """
    from kernelband.hardware import find_device

    if gpu is not None and find_device(gpu).name != proof.world.device:
        raise NotComparable(f"The proof can't be compared: it is about {proof.world.device}, not {gpu}.")
    if not proof.measured:
        find_device(proof.world.device)


def _options(proof: Proof, there: Ground, reached: Mapping[str, str | None]) -> Options:
    """The request of ``verify``, about the texts of the proof."""
    from kernelband.history.records import BEFORE
    from kernelband.search.options import Options

    return Options(
        os.path.realpath(os.path.join(there.root, proof.path)),
        proof.kernel,
        entry=there.entry(proof),
        trials=1,
        gpu=None if proof.measured else proof.world.device,
        worker=reached["worker"],
        python=reached["python"],
        objective=proof.objective,
        seed=proof.seed,
        allowed=NUMERICS[: NUMERICS.index(proof.numerics) + 1],
        overlays=there.before,
        edited=there.after,
        against=BEFORE,
    )


def _judged(proof: Proof, options: Options, db: Path, seconds: float, as_json: bool) -> Answer | None:
    """None where it was interrupted.

    Raises:
        NotComparable: what is here isn't what the proof is about, or it wasn't done in time.
        KernelBandError: the program can't be run here.
    """
    from kernelband.search.run import optimize as search
    from kernelband.search.start import start_if

    def refuse(lab: WorkerLab) -> None:
        other = differs(proof, lab.gpu["name"] if lab.gpu is not None else "", lab.device, lab.environment)
        if other:
            raise NotComparable(f"The proof can't be compared: {other}.")

    view = view_of(as_json)
    late: list[bool] = []
    ended: Any = None
    try:
        with view, interruptible(), _within(seconds, late):
            ended = search(options, db, view.hear, start_lab=start_if(refuse))
    except KeyboardInterrupt:
        if not late:
            raise
    if ended is None or ended.state == "interrupted":
        if late:
            raise NotComparable(f"The proof can't be compared: judging it again took more than {seconds:g} s. Give a larger --seconds.")
        return None
    with Store.read(db) as store:
        return confirm(proof, prove(read(store, runs.find(store, ended.run)), 1))


@contextmanager
def _within(seconds: float, late: list[bool]) -> Generator[None, None, None]:
    """Ends what is done in it as Ctrl-C would when it takes longer; then ``late`` isn't empty. A system without alarms lets it go on."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        late.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end(answer: Answer, as_json: bool) -> int:
    code = 0 if answer.outcome == "confirmed" else NOT_CONFIRMED
    said = f"{answer.sentence}."
    if as_json:
        echo(json.dumps({"event": "proof_checked", "outcome": answer.outcome, "message": said, "exit_code": code}))
    else:
        echo(said[:1].upper() + said[1:])
    return code

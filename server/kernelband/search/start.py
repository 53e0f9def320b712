"""What comes before anything is written: options checked, text read, entry chosen, worker started."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import field, frozen

from kernelband import __version__
from kernelband.errors import UsageError
from kernelband.history import Store, this_process
from kernelband.history.records import GIVEN, RunRow
from kernelband.propose import Author, Both, ModelAuthor, Rewriter
from kernelband.search import resume
from kernelband.search._base import Policy
from kernelband.search.budget import Budget, PhaseClock
from kernelband.search.events import Listener, Noted, WorkerSaid
from kernelband.search.options import Options
from kernelband.search.policies import make_policy
from kernelband.search.worker_lab import WorkerLab
from kernelband.source import Workspace, find_program, require_parsable
from kernelband.source.model import Program
from kernelband.workload import Choice, choose, choose_proof
from kernelband_worker.wire import EDITED_MARK, Entry, LockWaiting

StartLab = Callable[..., WorkerLab]
_OF_A_VARIANT = re.compile(re.escape(EDITED_MARK) + r"\w+")


@frozen
class Setup:
    """A run that could begin. ``earlier`` is the row of a resumed one."""

    options: Options
    db: Path
    listen: Listener
    budget: Budget
    clock: PhaseClock
    policy: Policy
    workspace: Workspace = field(repr=False)
    program: Program = field(repr=False)
    choice: Choice  # of entries: those after the first are tried where it doesn't launch the kernel
    proof: Entry  # what winners must pass
    lab: WorkerLab
    author: Author
    earlier: RunRow | None


def start_if(refuse: Callable[[WorkerLab], None]) -> StartLab:
    """Starts the worker, and ends it where ``refuse`` raises at the sight of its GPU and versions, before the program runs."""

    def start(workspace: Workspace, **how: Any) -> WorkerLab:
        lab = WorkerLab.start(workspace, **how)
        try:
            refuse(lab)
        except BaseException:
            lab.close()
            raise
        return lab

    return start


def saying(listen: Listener) -> Callable[[str, str], None]:
    """Tells what executors print, whole lines once: a compiler's warning comes with every variant and from every process. Pieces of a line
    are all told, whatever was told before.
    """
    said: set[str] = set()
    amid: set[str] = set()  # executors whose last text ended in the middle of a line

    def say(executor: str, text: str) -> None:
        whole = executor not in amid and text.endswith("\n")
        (amid.discard if text.endswith("\n") else amid.add)(executor)
        of_any = _OF_A_VARIANT.sub("", text)
        if not whole or of_any not in said:
            listen(WorkerSaid(executor, text))
        if whole:
            said.add(of_any)

    return say


def prepare(
    options: Options,
    db: Path,
    listen: Listener,
    *,
    resume_run: str | None,
    start_lab: StartLab,
    begun: float | None = None,
    author: Author | None = None,
) -> Setup:
    """Everything that can be refused without running the user's program; the caller closes ``lab``. ``begun`` and ``author``: as of
    ``run.optimize``.

    Raises:
        KernelBandError: one sentence.
    """
    clock = PhaseClock()
    loading_s = time.monotonic() - begun if begun is not None else 0.0
    earlier = resume.peek(db, resume_run) if resume_run is not None else None
    if earlier is not None:
        clock.seconds.update(earlier.clock)
    clock.seconds["start"] = clock.seconds.get("start", 0.0) + loading_s
    budget = Budget(options.trials, options.seconds, used=loading_s + (earlier.seconds_used if earlier is not None else 0.0), clock=clock)
    policy = make_policy(options.policy)
    author = author or make_author(options, lambda text: listen(Noted(text)), lambda: budget.left, earlier)
    if db.exists():
        Store.read(db).close()  # a damaged one is said before anything is started

    def waiting(lock: LockWaiting) -> None:
        listen(Noted(f"Waiting for the GPU: {lock['holder']} measures on it ({lock['waited_s']:.0f} s so far)."))

    with clock.span("start"):
        workspace, program = read(options)
        first = choose(workspace, program, options.entry)  # refused before a worker is started
        if earlier is not None:
            resume.require_same_texts(db, earlier, program.texts)
        lab = start_lab(
            workspace,
            worker=options.worker,
            python=options.python,
            gpu=options.gpu,
            seed=options.seed,
            on_log=saying(listen),
            on_waiting=waiting,
            warm=True,
            seconds=budget.seconds if not options.edited else None,
            counts=not options.edited,  # an edit is measured, whatever it moves: counting took half of its minute
        )
    try:  # a GPU shows more in a benchmark, the interpreter in a test
        choice = choose(workspace, program, options.entry, measured=lab.measured, there=first.there)
        proof = choose_proof(workspace, program, choice.entry, choice.there)
    except BaseException:
        lab.close()
        raise
    return Setup(
        options,
        db,
        listen,
        budget=budget,
        clock=clock,
        policy=policy,
        workspace=workspace,
        program=program,
        choice=choice,
        proof=proof,
        lab=lab,
        author=author,
        earlier=earlier,
    )


def make_author(options: Options, tell: Callable[[str], None], left: Callable[[], float], earlier: RunRow | None) -> Author:
    """The author that a run asks for.

    Args:
        options: ``author``, and ``model`` where that is one.
        tell: hears what a person should know.
        left: seconds left of the run.
        earlier: of a resumed run, whose summary says what its model has spent.

    Raises:
        UsageError: a model is asked for and none is named.
    """
    if options.author == "rewriter":
        return Rewriter()
    if options.model is None:
        raise UsageError("No model is named: give --model NAME, or set KERNELBAND_MODEL.")
    model = ModelAuthor(options.model, tell, left, alone=options.author == "model")
    spent: dict[str, Any] = earlier.summary.get("model", {}) if earlier is not None else {}
    for what in ("calls", "read", "written"):
        setattr(model.spending, what, int(spent.get(what, 0)))
    return model if options.author == "model" else Both(model, Rewriter())


def model_of(author: Author) -> ModelAuthor | None:
    """The model that is asked, if one is."""
    found = author.model if isinstance(author, Both) else author
    return found if isinstance(found, ModelAuthor) else None


def run_row(setup: Setup, number: str) -> RunRow:
    """The row of a run that begins now."""
    options, lab, me = setup.options, setup.lab, this_process()
    now = time.time()
    return RunRow(
        id=number,
        created=now,
        kernel_key="",
        path=options.path,
        kernel=setup.program.kernel.place.qualname,
        device=lab.device.name,
        mode="measured" if lab.measured else "predicted",
        policy=GIVEN if options.edited else options.policy,
        objective=options.objective,
        seed=options.seed,
        trials_budget=options.trials,
        seconds_budget=setup.budget.seconds,
        seconds_used=0.0,
        state="running",
        phase="start",
        reason="",
        owner=me.text,
        host=me.host,
        pid=me.pid,
        process=me.process,
        heartbeat=now,
        version=__version__,
        options=options.to_json(),
        environment=dict(lab.environment),
        clock={},
        summary={},
    )


def read(options: Options) -> tuple[Workspace, Program]:
    """The text, and the kernel in it with its host functions.

    Raises:
        SourceError: no such file or kernel, or text that isn't Python.
    """
    workspace = Workspace.for_file(options.path, options.overlays, entry=entry_file(options.entry, options.path))
    require_parsable(workspace.read(options.path), options.path)
    program = find_program(workspace, options.path, options.kernel)
    for path, text in program.texts.items():
        require_parsable(text, path)
    return workspace, program


def entry_file(entry: str | None, path: str) -> str | None:
    """The file that an entry names, when it names another one than the kernel's."""
    file = entry.partition("::")[0] if entry else ""
    if not file.endswith(".py") or os.path.realpath(file) == path:
        return None
    return os.path.realpath(file)

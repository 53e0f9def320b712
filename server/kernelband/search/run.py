"""One search from file to result: the seam that drives every other room. Any front end calls ``optimize`` and listens."""

from __future__ import annotations

import secrets
import threading
import time
from pathlib import Path
from typing import Any, cast, get_args

from attrs import define, evolve, field

from kernelband.errors import KernelBandError, WorkerError
from kernelband.history import Store, best_so_far, kernel_key, runs, this_process, trials
from kernelband.history.records import LEFT_OUT, CaseRow
from kernelband.history.values import finite
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Task
from kernelband.propose import Author
from kernelband.search import baseline as baselines
from kernelband.search import finish, given, record, resume
from kernelband.search.authors import close, make_author, spending
from kernelband.search.baseline import Baseline, Compiled
from kernelband.search.events import BaselineKnown, CasesCaptured, Listener, Noted, PhaseChanged, RunEnded, RunStarted
from kernelband.search.frontier import Frontier
from kernelband.search.loop import Loop, pace
from kernelband.search.options import Options
from kernelband.search.preparer import Preparer, identity_key
from kernelband.search.programs import Programs
from kernelband.search.ranker import Ranker
from kernelband.search.session import Journal, Reached, Session
from kernelband.search.start import Setup, StartLab, entry_file, prepare, run_row
from kernelband.search.stop import only_launches, why_nothing
from kernelband.search.worker_lab import WorkerLab
from kernelband.source import Workspace, find_program, form
from kernelband.source.model import Program
from kernelband.strategies import Facts, fixed_blocks
from kernelband.workload import capture_first, choose_proof
from kernelband.workload.capture import within
from kernelband_worker.wire import Case

BEAT_S = 2.0


def optimize(
    options: Options,
    db: Path,
    listen: Listener,
    *,
    resume_run: str | None = None,
    run_id: str | None = None,
    author: Author | None = None,
    start_lab: StartLab = WorkerLab.start,
    begun: float | None = None,
) -> RunEnded:
    """Search, verify, write down. ``KeyboardInterrupt`` ends it with everything kept and the run ``interrupted``.

    Args:
        options: what is asked; of a resumed run, what was asked then (``resume.options_of``).
        db: the database.
        listen: hears every event, from several threads.
        resume_run: the id of the run to continue.
        run_id: the id that a new run gets, 8 hexadecimal digits; by default a random one.
        author: who writes variants; by default the one of the options.
        start_lab: starts the worker.
        begun: when the command began, by the monotonic clock: loading all this takes a while, and whoever waits waits for that, too.

    Raises:
        KernelBandError: one sentence why it could not begin or had to stop; a run that has trials stays, and can be resumed.
    """
    setup = prepare(options, db, listen, resume_run=resume_run, start_lab=start_lab, begun=begun)
    try:
        return _Run(setup, author, run_id or secrets.token_hex(4)).go()
    finally:
        setup.lab.close()


@define
class _Run:
    setup: Setup
    author: Author | None
    new_id: str
    journal: Journal = field(init=False)
    session: Session | None = field(init=False, default=None)
    _outside: tuple[dict[str, Any], ...] = field(init=False, default=())  # accesses out of bounds that the capture saw
    _first_s: float = field(init=False, default=0.0)  # that the first measuring process took to import, to tune and to time the original
    _done: threading.Event = field(init=False, factory=threading.Event)

    def go(self) -> RunEnded:
        """From the run's row to its end."""
        setup = self.setup
        store = Store.write(setup.db)
        try:
            self._begin(store)
            heart = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
            heart.start()
            try:
                return self._search(store)
            except KeyboardInterrupt:
                return self._cut_off(store, "stopped by you")
            except BrokenPipeError:  # whoever listened has gone: `kernelband optimize | head`
                self.journal.listen = lambda _: None
                return self._cut_off(store, "its output was closed")
            except KernelBandError as error:
                self._failed(store, error.message, lost=isinstance(error, WorkerError))
                raise
            except BaseException as error:
                self._failed(store, f"an internal error of KernelBand: {type(error).__name__}", lost=True)
                raise
            finally:
                close(self.author)
                self._done.set()
                heart.join(BEAT_S)
        finally:
            store.close()

    # ------------------------------------------------------------ begin

    def _begin(self, store: Store) -> None:
        setup, options, lab = self.setup, self.setup.options, self.setup.lab
        if setup.earlier is not None:
            row = runs.claim(store, setup.earlier.id, this_process())
            runs.update(store, row.id, options=options.to_json(), trials_budget=options.trials, seconds_budget=setup.budget.seconds)
        else:
            for gone in runs.keep_below(store):
                setup.listen(Noted(f"The history was full: run {gone}, the oldest, was deleted."))
            row = run_row(setup, self.new_id)
            runs.begin(store, row, setup.program.texts)
        before: dict[str, Any] = setup.earlier.summary if setup.earlier is not None else {}
        reached: dict[Reached, float] = {k: before[k] for k in get_args(Reached) if k in before}
        self.journal = Journal(row.id, store, setup.listen, setup.budget, setup.clock, reached=reached)
        if self.author is None:
            spent: dict[str, Any] = before.get("model", {})
            self.author = make_author(options, lambda text: self.journal.emit(Noted(text)), lambda: setup.budget.left, spent)
        entry = f"{setup.choice.entry['path']}::{setup.choice.entry['name']}"
        self.journal.emit(
            RunStarted(
                row.id,
                row.path,
                row.kernel,
                entry,
                row.mode,
                lab.device.name,
                row.policy,
                row.objective,
                options.trials,
                setup.budget.seconds,
                row.seed,
                setup.earlier is not None,
            )
        )
        busy = lab.gpu["processes"] if lab.gpu is not None else []
        if busy:
            self.journal.emit(Noted(f"Other processes use this GPU, so figures will be noisy: {', '.join(busy)}."))

    def _beat(self) -> None:
        while not self._done.wait(BEAT_S):
            self.journal.beat()

    # ------------------------------------------------------------ the search itself

    def _search(self, store: Store) -> RunEnded:
        setup, journal, lab = self.setup, self.journal, self.setup.lab
        begin = time.monotonic()
        cases = self._capture(store)
        capture_s = time.monotonic() - begin
        lab.open_ahead(cases[0])  # while the original is compiled
        with journal.during("baseline"):
            compiled = baselines.read(lab, setup.program, baselines.forecast_cases(cases, measured=lab.measured))
            cases = self._without(store, compiled.late, cases)
            timing = tuple(c for c in cases if c["role"] == "time")
            about, judge = baselines.forecast_cases(cases, measured=lab.measured), self._judge(cases)
            session = self._session(judge, cases, about, compiled)
            loop = Loop(session, lambda: finish.reserve(session, capture_s, self._first_s))
            if lab.measured and "reassociates" in setup.options.allowed:
                lab.build_references(cases)
            if setup.earlier is None and not setup.options.edited:
                loop.look_ahead(0)  # compiled while the original is timed
            began = time.monotonic()
            base = baselines.take(lab, judge, compiled, setup.options.objective)
            self._first_s = time.monotonic() - began
        session.frontier.add(base.member, base.mean_seconds)
        told = baselines.lines(lab.device, setup.program, base, timing)
        journal.emit(BaselineKnown(told, base.device_us, base.noise))
        if setup.earlier is not None and trials.variants(store, journal.run):
            resume.restore(session, store)
        else:
            self._write_baseline(store, base)
        self.session = session
        if setup.options.edited:
            return self._end("finished", *given.judge(session, loop))
        if session.leader == 0:
            loop.see(base.device_us)
        if setup.options.objective == "device":
            loop.launches = only_launches(lab.device, timing, base.found, base.device_us)
        loop.run()
        verified = finish.confirm(session)
        best = (verified[0] if verified else None) if lab.measured else finish.bet(session)
        session.count("verified", len(verified))
        return self._end(
            "finished", f"{self._conclusion(session, best, verified, short=loop.stopped == loop.launches)}; {loop.stopped}", best, verified
        )

    def _capture(self, store: Store) -> tuple[Case, ...]:
        setup, journal, lab = self.setup, self.journal, self.setup.lab
        begin = time.monotonic()
        with journal.during("capture"):
            captured = capture_first(
                lab.measuring(),
                setup.workspace,
                setup.program,
                setup.choice,
                lock=lab.uuid,
                predicting=not lab.measured,
                sizes=not lab.measured and not setup.choice.named,
                within_s=within(setup.budget.seconds),
            )
        if captured.entry != setup.choice.entry:
            self.setup = evolve(setup, proof=choose_proof(setup.workspace, setup.program, captured.entry, setup.choice.there))
        self._outside = captured.out_of_bounds
        cases = tuple(captured.cases)
        keys = ("id", "role", "arguments", "calls", "share", "replayable", "reason")
        shown = tuple({k: c[k] for k in keys} | {"function": c["function"]["qualname"]} for c in (*cases, *captured.refused))
        journal.emit(CasesCaptured(shown, time.monotonic() - begin))
        for note in (*captured.notes, *(() if setup.options.edited else fixed_blocks(setup.program, Facts(lab.device, cases)))):
            journal.emit(Noted(note))
        gpu = lab.gpu["name"] if lab.gpu is not None else lab.device.key
        key = kernel_key(setup.program, cases, gpu, lab.environment)
        known = trials.cases(store, journal.run)
        if setup.earlier is not None:
            resume.require_same_world(setup.earlier, key, dict(lab.environment), cases, [c.id for c in known])
        if not known:
            rows = tuple(CaseRow(journal.run, c["id"], i, c["role"], finite(dict(c))) for i, c in enumerate(cases))
            trials.write(store, trials.Rows(cases=rows))
        runs.update(store, journal.run, kernel_key=key)
        left_out = {c.id for c in known if c.role == LEFT_OUT}  # by the run that is resumed: figures over other cases aren't its own
        return tuple(c for c in cases if c["id"] not in left_out)

    def _without(self, store: Store, late: frozenset[str], cases: tuple[Case, ...]) -> tuple[Case, ...]:
        left_out = [c["arguments"] for c in cases if c["id"] in late]
        if left_out:
            more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
            self.journal.emit(Noted(f"Compiling the original takes too long where it gets {left_out[0]}{more}: that is left out."))
            known = trials.cases(store, self.journal.run)
            trials.write(store, trials.Rows(cases=tuple(evolve(c, role=LEFT_OUT) if c.id in late else c for c in known)))
        return tuple(c for c in cases if c["id"] not in late)

    def _judge(self, cases: tuple[Case, ...]) -> Judge:
        setup, lab = self.setup, self.setup.lab
        task = Task(cases, setup.options.objective, setup.proof)
        return Judge(task, gpu=lab.uuid, device=lab.device, tell=lambda text: self.journal.emit(Noted(text)))

    def _session(self, judge: Judge, cases: tuple[Case, ...], about: tuple[Case, ...], base: Compiled) -> Session:
        setup, lab = self.setup, self.setup.lab
        programs = Programs(setup.program, self._find)
        programs.set_facts(0, base.facts)
        triton = cast("tuple[int, int]", tuple(int(x) for x in lab.environment["triton"].split(".")[:2]))

        def facts(parent: int) -> Facts:
            return Facts(lab.device, cases, tuple(programs.facts(parent).values()), triton, frozenset(setup.options.allowed))

        assert self.author is not None
        preparer = Preparer(lab, self.author, programs, about, Ranker(lab, base.profiler).rank, facts, lambda: setup.budget.left)
        preparer.know(identity_key(base.identity))
        s = Session(setup.options, self.journal, lab, judge, setup.policy, programs, preparer, cases, Frontier(), base.profiler)
        s.launches = base.launches
        return s

    def _find(self, texts: dict[str, str]) -> Program:
        """The program in the texts of a variant: the same workspace, with those files replaced."""
        setup = self.setup
        overlays = {**setup.options.overlays, **texts}
        workspace = Workspace.for_file(setup.options.path, overlays, entry=entry_file(setup.options.entry, setup.options.path))
        return find_program(workspace, setup.options.path, setup.program.kernel.place.qualname)

    def _write_baseline(self, store: Store, base: Baseline) -> None:
        run = self.journal.run
        rows = trials.Rows(
            variants=(record.original_row(run, base.member, base.mean_seconds, base.found, self._outside, form=form(self.setup.program)),),
            measurements=record.measurement_rows(run, 0, "baseline", base.measurements),
            facts=record.facts_rows(run, 0, base.facts),
        )
        with self.journal.during("commit"):
            trials.write(store, rows)

    # ------------------------------------------------------------ end

    def _cut_off(self, store: Store, why: str) -> RunEnded:
        """With the best so far, which is named: it was not verified."""
        if self.setup.options.edited:
            return self._end("interrupted", f"{why}: nothing of it is kept", None, ())
        measured = self.setup.lab.measured
        best = best_so_far(store, self.journal.run, "measured" if measured else "predicted")
        said = f"{why}: `kernelband optimize --resume {self.journal.run}` continues it"
        if best is not None:
            said += f"; best so far: variant {best}, {'not verified yet' if measured else 'likely faster (predicted)'}"
        return self._end("interrupted", said, best, ())

    def _conclusion(self, s: Session, best: int | None, verified: tuple[int, ...], *, short: bool) -> str:
        if not s.trials and short:  # why the search has stopped says all
            return "nothing was tried"
        if not s.trials:
            pulls = trials.pulls(self.journal.store, self.journal.run)
            return f"nothing was tried: {why_nothing(s.counts, pulls, self.journal.clock.snapshot())}"
        if s.lab.measured:
            return f"{len(verified)} verified" if verified else "nothing verified: the original stands"
        return f"predicted: variant {best} is likely faster" if best is not None else "predicted: nothing is likely faster"

    def _end(self, state: str, reason: str, best: int | None, verified: tuple[int, ...]) -> RunEnded:
        journal, s, store = self.journal, self.session, self.journal.store
        clock, took = journal.clock.snapshot(), round(journal.budget.elapsed, 3)  # of one moment
        counts = dict(s.counts) if s is not None else {}
        shown = best if verified or not self.setup.lab.measured else None
        summary = finish.summary(s, shown, verified) if s is not None else {}
        if s is not None:
            if not self.setup.options.edited:
                trials.write(store, trials.Rows(arms=finish.arms_rows(s)))
            clock |= {f"background {k}": round(v, 3) for k, v in s.preparer.seconds.items()}
        summary |= {**self._spent(), **journal.reached}
        runs.end(store, journal.run, state, reason, seconds_used=took, clock=clock, summary=summary)
        journal.phase = "done"
        journal.emit(PhaseChanged("done"))
        per_trial = round(pace(s), 3) if s is not None and s.trials else None
        ended = RunEnded(journal.run, state, reason, best, verified, counts, clock, took, per_trial, **journal.reached)
        if state != "finished" and self.setup.options.edited:  # half a judgement is none
            self._forget(store)
        journal.emit(ended)
        return ended

    def _spent(self) -> dict[str, Any]:
        """What the model cost: said, and kept for a resume."""
        spent = spending(self.author)
        if spent:
            self.journal.emit(Noted(f"Asked the model {spent['text']}."))
        return {"model": spent} if spent else {}

    def _forget(self, store: Store) -> None:
        runs.forget(store, self.journal.run, running=True)
        store.remove_if_empty()

    def _failed(self, store: Store, reason: str, *, lost: bool) -> None:
        """Keep what there is. A run that got nowhere because of its input leaves nothing behind; one that lost its worker can go on."""
        run = self.journal.run
        if self.setup.options.edited or (not lost and self.setup.earlier is None and not trials.variants(store, run)):
            self._forget(store)
            return
        clock = self.journal.clock.snapshot()
        summary = finish.summary(self.session, None, ()) if self.session is not None else {}
        summary |= {**self._spent(), **self.journal.reached}
        self.journal.emit(Noted(f"What was found is kept: `kernelband optimize --resume {run}` continues it."))
        runs.end(store, run, "failed", reason, seconds_used=self.journal.budget.elapsed, clock=clock, summary=summary)

"""One search from file to result: the seam that drives every other room. Any front end calls ``optimize`` and listens."""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from attrs import define, field

from kernelband.errors import HistoryError, KernelBandError, WorkerError
from kernelband.history import Store, best_so_far, runs, this_process, trials
from kernelband.propose import Author
from kernelband.search import finish, given_edit, resume
from kernelband.search.early import EarlyFinal
from kernelband.search.events import BaselineKnown, Listener, Noted, PhaseChanged, RunEnded, RunStarted
from kernelband.search.loop import Loop
from kernelband.search.options import Options
from kernelband.search.preparation import Preparation, lines
from kernelband.search.session import Journal, Reached, Session
from kernelband.search.start import Setup, StartLab, model_of, prepare, run_row
from kernelband.search.stop import only_launches, why_nothing
from kernelband.search.worker_lab import WorkerLab

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
    setup = prepare(options, db, listen, resume_run=resume_run, start_lab=start_lab, begun=begun, author=author)
    try:
        return _Run(setup, run_id or secrets.token_hex(4)).go()
    finally:
        setup.lab.close()


@define
class _Run:
    setup: Setup
    new_id: str
    journal: Journal = field(init=False)
    session: Session | None = field(init=False, default=None)
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
                model = model_of(setup.author)
                if model is not None:
                    model.close()  # nobody waits any more for what it would have said
                self._done.set()
                heart.join()  # it may be about to write, and the history is closed next
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
        entry = f"{setup.choice.entry['path']}::{setup.choice.entry['name']}"
        self.journal.emit(
            RunStarted(
                run=row.id,
                path=row.path,
                kernel=row.kernel,
                entry=entry,
                mode=row.mode,
                device=lab.device.name,
                policy=row.policy,
                objective=row.objective,
                trials=options.trials,
                seconds=setup.budget.seconds,
                seed=row.seed,
                resumed=setup.earlier is not None,
            )
        )
        busy = lab.gpu["processes"] if lab.gpu is not None else []
        if busy:
            self.journal.emit(Noted(f"Other processes use this GPU, so figures will be noisy: {', '.join(busy)}."))

    def _beat(self) -> None:
        while not self._done.wait(BEAT_S):
            with suppress(HistoryError):  # what is wrong with it is said by the search, if it still is when that writes next
                self.journal.beat()

    # ------------------------------------------------------------ the search itself

    def _search(self, store: Store) -> RunEnded:
        setup, journal, lab = self.setup, self.journal, self.setup.lab
        options, preparation = setup.options, Preparation(setup, journal)
        cases = preparation.capture()
        lab.open_ahead(cases[0])  # while the original is compiled
        with journal.during("baseline"):
            session, compiled = preparation.compile(cases)
            early = EarlyFinal(session, lambda: finish.seconds_of(session, 1, preparation.capture_s, preparation.first_s))
            loop = Loop(session, lambda: finish.reserve(session, preparation.capture_s, preparation.first_s), early.look)
            if lab.measured and "reassociates" in options.allowed:
                lab.build_references(session.cases)
            if setup.earlier is None and not options.edited:
                loop.look_ahead(0)  # compiled while the original is timed
            base = preparation.measure(session, compiled)
        timing = tuple(c for c in session.cases if c["role"] == "time")
        searched = [] if options.edited else [o.program.kernel.place.name for o in session.builder.facts(0).others]
        journal.emit(BaselineKnown(lines(lab.device, setup.program, base, timing, searched), base.device_us, base.noise))
        if setup.earlier is not None and trials.variants(store, journal.run):
            resume.restore(session, store)
        else:
            preparation.write(base)
        self.session = session
        with journal.during("compile", 1, span="waiting"):
            lab.references_built()
        if options.edited:
            return self._end("finished", *given_edit.judge(session))
        if session.leader == 0:
            loop.see(base.device_us)
        if options.objective == "device":
            loop.launches = only_launches(lab.device, timing, session.profile.before, base.device_us)
        loop.run()
        early.conclude()
        verified = finish.confirm(session)
        best = (verified[0] if verified else None) if lab.measured else finish.bet(session)
        session.count("verified", len(verified))
        said = self._conclusion(session, best, verified, short=loop.stopped == loop.launches)
        return self._end("finished", f"{said}; {loop.stopped}", best, verified)

    # ------------------------------------------------------------ end

    def _cut_off(self, store: Store, why: str) -> RunEnded:
        """With the best so far, which is named: it was not verified."""
        if self.setup.options.edited:
            return self._end("interrupted", f"{why}: nothing of it is kept", None, ())
        measured = self.setup.lab.measured
        best = best_so_far(store, self.journal.run, "measured" if measured else "predicted")
        verified = finish.winners(self.session) if self.session is not None else ()
        said = f"{why}: `kernelband optimize --resume {self.journal.run}` continues it"
        if best is not None:
            known = "verified" if best in verified else "not verified yet" if measured else "likely faster (predicted)"
            said += f"; best so far: variant {best}, {known}"
        return self._end("interrupted", said, best, verified)

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
            clock |= {f"background {k}": round(v, 3) for k, v in s.builder.seconds.items()}
        summary |= {**self._spent(), **journal.reached}
        runs.end(store, journal.run, state, reason, seconds_used=took, clock=clock, summary=summary)
        journal.phase = "done"
        journal.emit(PhaseChanged("done"))
        ended = RunEnded(
            journal.run,
            state,
            reason,
            best=best,
            verified=verified,
            counts=counts,
            clock=clock,
            seconds=took,
            seconds_per_trial=round(s.pace, 3) if s is not None and s.trials else None,
            **journal.reached,
        )
        if state != "finished" and self.setup.options.edited:  # half a judgement is none
            self._forget(store)
        journal.emit(ended)
        return ended

    def _spent(self) -> dict[str, Any]:
        """What the model cost: said, and kept for a resume."""
        model = model_of(self.setup.author)
        if model is None or not model.spending.calls:
            return {}
        spent = model.spending.to_json()
        self.journal.emit(Noted(f"Asked the model {spent['text']}."))
        return {"model": spent}

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

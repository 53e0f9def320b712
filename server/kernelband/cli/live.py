"""The run in a terminal: what it does, the best so far, how long it may take; then what came out and where the time went."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from kernelband.explain.compare import Step, because
from kernelband.history.outcome import PREDICTED, Outcome
from kernelband.history.records import GIVEN
from kernelband.search.events import (
    ArmChosen,
    BaselineKnown,
    CandidatesCompiled,
    CasesCaptured,
    Event,
    FinalEnded,
    Noted,
    PhaseChanged,
    RunEnded,
    RunStarted,
    TrialEnded,
    WorkerSaid,
)

SHOWN = {
    "start": "starting the worker",
    "capture": "running your program once to record how it calls the kernel",
    "baseline": "examining the original",
    "compile": "writing and compiling candidates",
    "check": "checking",
    "measure": "checking and measuring",
    "commit": "writing down",
    "final": "verifying the best in fresh processes",
}
GOOD = (Outcome.FASTER, Outcome.LIKELY_FASTER)
PLAIN = (Outcome.SLOWER, Outcome.INCONCLUSIVE, Outcome.UNCLEAR, Outcome.LIKELY_SLOWER)


class Live:
    """A front end. ``hear`` may be called from any thread."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self._status: Status | None = None
        self._lock = threading.Lock()
        self._started: RunStarted | None = None
        self._searching: float | None = None  # since when
        self._phase, self._trial, self._tried = "start", 0, 0
        self._arm, self._best = "", ""
        self._pace: list[float] = []
        self._said: list[str] = []

    def __enter__(self) -> Live:
        if self.console.is_terminal:
            self._status = self.console.status(SHOWN["start"])
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def hear(self, event: Event) -> None:
        """Show it."""
        with self._lock:
            self._hear(event)
            if self._status is not None:
                self._status.update(self._line())

    # ------------------------------------------------------------ events

    def _hear(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, PhaseChanged):
            self._phase = event.phase
            self._trial = event.trial or self._trial
        elif isinstance(event, Noted):
            self._print(f"[yellow]{escape(event.text)}[/]")
        elif isinstance(event, WorkerSaid):
            self._said = [*self._said, *event.text.splitlines()][-50:]
        elif isinstance(event, CasesCaptured):
            self._cases(event)
        elif isinstance(event, BaselineKnown):
            self._baseline(event)
        elif isinstance(event, ArmChosen):
            self._arm = event.strategy
        elif isinstance(event, CandidatesCompiled):
            self._arm = f"{event.strategy}, {event.compiled} candidates"
        elif isinstance(event, TrialEnded):
            self._trial_ended(event)
        elif isinstance(event, FinalEnded):
            self._final(event)

    def _start(self, event: RunStarted) -> None:
        self._started = event
        verb = "Continuing" if event.resumed else "Judging your edit of" if event.policy == GIVEN else "Optimizing"
        budget = " or ".join(
            x for x in (f"{event.trials} trials" if event.trials else "", f"{event.seconds:g} s" if event.seconds else "") if x
        )
        self._print(f"[bold]{verb} {escape(event.kernel)}[/] in {escape(event.path)}  (run {event.run})")
        where = f"on {event.device}" if event.mode == "measured" else f"predicted for {event.device}: nothing is measured"
        how = "" if event.policy == GIVEN else f"{event.policy} policy; up to {budget}; "
        self._print(f"  {where}; {how}entry {escape(event.entry)}")

    def _cases(self, event: CasesCaptured) -> None:
        used = [c for c in event.cases if c["replayable"]]
        self._print(f"  {len(used)} case{'s' if len(used) != 1 else ''} recorded in {event.seconds:.1f} s")
        for case in event.cases:
            mark = "" if case["replayable"] else f"  [yellow]left out: {escape(str(case['reason']))}[/]"
            self._print(f"    {case['role']:8} {escape(str(case['arguments']))}{mark}")

    def _baseline(self, event: BaselineKnown) -> None:
        self._searching = time.monotonic()
        for line in event.lines:
            self._print(f"  original: {escape(line)}")
        for case, us in event.device_us.items():
            noise = event.noise.get(case)
            self._print(
                f"    {case[:8]}  {us:.1f} µs" + (f"  (differs from itself by up to {100 * noise:.1f} %)" if noise is not None else "")
            )

    def _trial_ended(self, event: TrialEnded) -> None:
        self._tried = event.number
        self._pace.append(event.seconds)
        outcome = Outcome(event.outcome)
        word = "no clear difference" if outcome is Outcome.INCONCLUSIVE else outcome.word
        color = "green" if outcome in GOOD else "dim" if outcome in PLAIN else "red"
        figure = f" [dim]{event.score:.2f}× in screening[/]" if event.score is not None else ""
        self._print(f"  {event.number:3} [{color}]{word:20}[/]{figure} {escape(event.strategy)}: {escape(event.what)}")
        if event.fact and outcome in PREDICTED:
            step = Step.of(event.parent, event.parent_gains, event.parent_costs)
            self._print(f"      [dim]because: {escape(because(event.tier or '', event.fact, step))}[/]")
        elif event.reason and outcome not in GOOD:
            self._print(f"      [dim]{escape(event.reason)}[/]")
        self._best = f"best so far: {event.best}" if event.best else "best so far: the original"

    def _final(self, event: FinalEnded) -> None:
        if event.verified and event.score is not None and event.low is not None and event.high is not None:
            interval = f"{event.score:.2f}× (next process: {event.low:.2f} to {event.high:.2f})"
            self._print(
                f"  [bold green]verified[/] variant {event.variant}: {interval}{', while the search went on' if event.early else ''}"
            )
        else:
            self._print(f"  variant {event.variant} is not verified: {escape(event.reason) or 'not surely faster in fresh processes'}")

    # ------------------------------------------------------------ the end

    def finish(self, ended: RunEnded, db: Path) -> None:
        """What came out, and where the time went. ``db`` is named in the commands when it isn't the default."""
        counts = ended.counts
        tally = ", ".join(f"{counts.get(k, 0)} {k}" for k in ("proposed", "compiled", "executed", "verified"))
        self._print(f"\n[bold]{escape(ended.reason[:1].upper() + ended.reason[1:])}[/]  ({tally}; {ended.seconds:.1f} s)")
        pace = f"; {ended.seconds_per_trial:.1f} s a trial" if ended.seconds_per_trial is not None else ""
        self._print("Where the time went: " + spent(ended.clock) + pace)
        for line in reached(ended.seconds_to_verified, ended.seconds_to_checked):
            self._print(line)
        if ended.best is None and ended.state == "finished" and self._started is not None and self._started.mode == "predicted":
            self._worth_trying(ended.run, db)
        if ended.best is not None:
            from kernelband.cli.figuretable import render
            from kernelband.explain.why import of_run

            told = of_run(db, ended.run, ended.best)
            self._print(f"\n[bold]Variant {ended.best}[/]")
            for line in told.lines:
                self._print(escape(line))
            if told.figures is not None:
                self.console.print(render(told.figures))
            self._print(escape(told.patch))
            self._print(f"See it:    kernelband show {ended.run}{_where(db)}")
            self._print(f"The patch: kernelband apply {ended.run}/{ended.best} --diff{_where(db)}")

    def _worth_trying(self, run: str, db: Path) -> None:
        from kernelband.explain.words import tier, titles_of, worth_trying
        from kernelband.history import Store, runs, trials

        with Store.read(db) as store:
            row = runs.find(store, run)
            variants = {v.id: v for v in trials.variants(store, row.id)}
            tried = trials.trials(store, row.id)
        gains: dict[int, str] = {n: next(iter(v.forecast.get("gains") or ()), "") for n, v in variants.items()}
        chosen = worth_trying((t.variant, tier(t, variants[t.variant]) or "", gains[t.variant]) for t in tried)
        if chosen and row.policy != GIVEN:
            titles = titles_of(variants, tried, None)
            self._print("Worth trying on a GPU:")
            for n in chosen:
                self._print(f"  {run}/{n}  {escape(titles[n])}: {escape(gains[n])}")
            self._print(f"See one: kernelband show {run}/{chosen[0]}{_where(db)}")

    def _line(self) -> str:
        parts = [SHOWN.get(self._phase, self._phase)]
        if self._trial and self._phase in ("compile", "check", "measure", "commit"):
            parts[0] = f"trial {self._trial}: {parts[0]}" + (f" ({self._arm})" if self._arm else "")
        if self._best:
            parts.append(self._best)
        left = self._left()
        if left is not None:
            parts.append(f"about {left:.0f} s left")
        return escape("; ".join(parts))

    def _left(self) -> float | None:
        started = self._started
        if started is None:
            return None
        ends: list[float] = []
        if started.trials and self._pace:
            ends.append(max(started.trials - self._tried, 0) * sorted(self._pace)[len(self._pace) // 2])
        if started.seconds and self._searching is not None:
            ends.append(max(started.seconds - (time.monotonic() - self._searching), 0))
        return min(ends, default=None)

    def _print(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)


def reached(verified_s: float | None, checked_s: float | None) -> tuple[str, ...]:
    """From the start of the command, with a resumed run's earlier time, to the first variant that is worth a look."""
    checked = (f"First variant that passed its check, by the interpreter: after {checked_s:.1f} s.",) if checked_s is not None else ()
    return (f"First verified variant: after {verified_s:.1f} s.", *checked) if verified_s is not None else checked


def spent(clock: dict[str, float]) -> str:
    """Such as ``capture 2.1 s, compile 3.4 s``, the largest first; what ran beside the rest stands in brackets."""
    own = sorted(((v, k) for k, v in clock.items() if not k.startswith("background ") and v >= 0.05), reverse=True)
    beside = [f"{k.removeprefix('background ')} {v:.1f} s" for k, v in clock.items() if k.startswith("background ") and v >= 0.05]
    text = ", ".join(f"{'waiting for the compiler' if k == 'waiting' else k} {v:.1f} s" for v, k in own)
    return text + (f" (beside the rest: {', '.join(beside)})" if beside else "")


def _where(db: Path) -> str:
    from kernelband.history import find_place

    return "" if find_place(None).path == db else f" --db {db}"

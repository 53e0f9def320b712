"""What is known of a run while it goes on, from its events (kernelband/search/events.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from attrs import Factory, define, field, frozen

from kernelband.explain.words import STOPPED, came_to, nothing
from kernelband.history.outcome import PREDICTED, Outcome
from kernelband.lsp.child import Event, Exit
from kernelband.lsp.remedies import Said, said, words

INTERRUPTED = 130  # the exit code of a search that was stopped before it had a row
SEARCH_SHARE = 0.8  # of the whole; the rest is the final verification
FINALIST_SHARE = 0.05  # at most three are verified, and nothing is left but to write it down
FIRST = {"start": "starting", "capture": "capturing", "baseline": "examining the original"}
NOTES = 100


@frozen
class Request:
    """What is asked of a run. Paths are absolute, also those in ``entry`` and ``python``: the run has no folder of its user's.

    ``text``: the buffer where it differs from the file; ``overlays``: the same of other files, path to text. With ``resume``, the id of a
    run that was cut off, only budget, worker, python and db of the rest count. ``worker``: "" for this machine, None where nothing says
    one. ``judges``: no search, but the judge's word on the text, against that of ``base`` (path to text) where it holds any.
    """

    uri: str
    path: str
    kernel: str
    text: str | None = field(default=None, repr=False)
    overlays: Mapping[str, str] = field(factory=dict[str, str], repr=False)
    entry: str | None = None
    trials: int | None = None
    seconds: float | None = None
    gpu: str | None = None
    worker: str | None = None
    python: str | None = None
    db: str | None = None
    resume: str | None = None
    judges: bool = False
    base: Mapping[str, str] = field(factory=dict[str, str], repr=False)

    @property
    def runs(self) -> tuple[str, ...]:
        """The files that are named to run: the kernel's and the entry's."""
        entry = (self.entry or "").partition("::")[0]
        return (self.path, entry) if entry.endswith(".py") else (self.path,)


@define(eq=False)
class LiveRun:
    """One run. ``state`` is ``running`` until nothing of its process is left, then as in the history: finished, interrupted or failed.

    ``trials`` and ``seconds``: the budget; ``done``: trials so far; ``mode`` and ``device`` are None until the worker has answered.
    ``leader``: the variant that looks best, 0 for the original. ``verified``: by the newest final, the best first. ``error``: one sentence.
    """

    id: str
    request: Request
    now: Callable[[], float] = time.monotonic
    state: str = "running"
    stopping: bool = False
    phase: str = "start"
    mode: str | None = None
    device: str | None = None
    entry: str = ""
    trials: int | None = field(init=False, default=Factory(lambda self: self.request.trials, takes_self=True))
    seconds: float | None = field(init=False, default=Factory(lambda self: self.request.seconds, takes_self=True))
    done: int = 0
    leader: int = 0
    best: int | None = None  # the variant to look at first, at the end
    verified: tuple[int, ...] = ()
    notes: list[str] = field(factory=list[str])
    counts: dict[str, int] = field(factory=dict[str, int])
    reason: str = ""
    error: str = ""
    remedies: tuple[str, ...] = ()  # what helps against the error (``remedies``)
    detail: str = ""
    exit_code: int | None = None  # with which error it ended, as it said
    started: float = field(init=False, default=Factory(lambda self: self.now(), takes_self=True))
    _searching: float | None = None  # since when
    _ended: float | None = None
    _end_state: str | None = None  # as the run itself said
    _final: bool = False
    _screened: dict[int, float] = field(factory=dict[int, float])
    _ratios: dict[int, float] = field(factory=dict[int, float])  # of verified variants
    _finals: int = 0
    _outcome: Outcome | None = None  # the best of a prediction

    # ------------------------------------------------------------ what others ask

    @property
    def ended(self) -> bool:
        """Whether nothing of its process is left."""
        return self.state != "running"

    @property
    def elapsed(self) -> float:
        """Seconds since it was asked for; stands still at the end."""
        return (self.now() if self._ended is None else self._ended) - self.started

    @property
    def fraction(self) -> float:
        """How much is done, from 0 to 1, by trials or seconds, whichever is further; never goes back."""
        if self.ended:
            return 1.0
        if self._final:
            return SEARCH_SHARE + FINALIST_SHARE * min(self._finals, 3)
        return SEARCH_SHARE * max((spent / whole for spent, whole, _ in self._budgets()), default=0.0)

    @property
    def score(self) -> float | None:
        """Old time over new of the best: of the final once it is verified, before that of screening, which is no result. None where nothing
        is measured, or nothing is faster.
        """
        if self.mode != "measured":
            return None
        if self._ratios:
            return self._ratios.get(self.best or 0, max(self._ratios.values()))
        return None if self._finals or self._end_state is not None else self._screened.get(self.leader)

    @property
    def tier(self) -> str | None:
        """The best tier so far; predicted mode only."""
        return self._outcome.word if self._outcome is not None else None

    @property
    def headline(self) -> str:
        """A few words for a line above the kernel."""
        if self.ended:
            return self._conclusion()
        if self.stopping:
            return "stopping"
        if self._final:
            return "verifying"
        if not self.done and (first := FIRST.get(self.phase)):
            return first
        likely = f" · {self.tier}" if self._outcome is Outcome.LIKELY_FASTER else ""
        known = "verified" if self._ratios else "best"
        return self._progress() + (f" · {known} {self.score:.2f}×" if self.score is not None else likely)

    def _budgets(self) -> list[tuple[float, float, str]]:
        """What is spent of each budget, the whole, and its unit; trials first."""
        trials = [(min(self.done, self.trials), self.trials, "")] if self.trials else []
        spent = self.now() - self._searching if self._searching is not None else 0.0
        seconds = [(min(spent, self.seconds), self.seconds, " s")] if self.seconds else []
        return [*trials, *seconds]

    def _progress(self) -> str:
        budgets = self._budgets()
        if not budgets:
            return f"{self.done} trials"
        spent, whole, unit = max(budgets, key=lambda b: b[0] / b[1])
        return f"{int(spent)}/{whole:g}{unit}"

    def _conclusion(self) -> str:
        if self.state != "finished":
            so_far = f" · best so far: variant {self.best}" if self.best is not None else ""
            so_far = f" · {came_to(self.score)}" if self.verified else so_far
            return STOPPED.get(self.state, self.state) + so_far
        judged = (self.tier or self.reason.partition(":")[0]) if self.request.judges else ""
        likely = self.mode != "measured" and self.best is not None
        return came_to(self.score if self.verified else None, judged=judged, likely=likely) or nothing(self.mode)

    # ------------------------------------------------------------ what its process says

    def hear(self, event: Event) -> bool:
        """Take an event; whether it is one that changes what is shown (what a program prints, say, is not)."""
        match event["event"]:
            case "run_started":
                self.mode, self.device, self.entry = event["mode"], event["device"], event["entry"]
                self.trials, self.seconds = event["trials"], event["seconds"]
            case "phase_changed":
                self.phase = event["phase"]
                if self.phase not in FIRST and self._searching is None:
                    self._searching = self.now()
                self._final = self._final or self.phase == "final"
            case "noted":
                self.notes = [*self.notes, words(event["text"])][-NOTES:]
            case "candidates_compiled":
                # As the run counts at its end: what the event calls compiled are the candidates that wait for the device now.
                new = {name: int(event[name]) for name in ("proposed", "failed", "duplicates")}
                for what, by in {**new, "compiled": new["proposed"] - new["failed"]}.items():
                    self.counts[what] = self.counts.get(what, 0) + by
            case "trial_ended":
                self._trial_ended(event)
            case "final_ended":
                self._final_ended(event)
            case "run_ended":
                self._end_state, self.reason, self.best = event["state"], words(event["reason"]), event["best"]
                self.verified, self.counts = tuple(event["verified"]), dict(event["counts"])
            case "error":
                self._end_state, self.detail, self.exit_code = "failed", event["detail"], event.get("exit_code")
                self._refused(said(event["message"], self.exit_code))
            case _:
                return False
        return True

    def end(self, exit_: Exit, last_words: str) -> None:
        """Its process is gone. ``last_words``: the last line of its stderr."""
        self._ended = self.now()
        if self._end_state is None:
            stopped = self.stopping or exit_.code == INTERRUPTED
            self._end_state = "interrupted" if stopped else "failed"
            self.reason = "stopped by you" if stopped else ""
            if not stopped:
                silent = f"The search ended with exit code {exit_.code} and said nothing: `kernelband optimize` in a terminal may show why."
                # A search that can't even be started lacks its own Python; one that only says so on stderr may have been anything.
                self._refused(Said(exit_.problem, ("search",)) if exit_.problem else said(last_words or silent))
        self.state = self._end_state

    def _refused(self, why: Said) -> None:
        self.error, remedies = why.message, why.remedies
        # What was found is kept once there is a trial: another Python or a GPU that is back can go on with it.
        self.remedies = tuple(dict.fromkeys((*remedies, *(("resume",) if self.done and not self.request.judges else ()))))

    def _trial_ended(self, event: Event) -> None:
        self.done, self.leader = event["number"], event["best"]
        self.counts["executed"] = self.counts.get("executed", 0) + 1
        if self.mode == "measured":
            if event["score"] is not None:
                self._screened[event["variant"]] = event["score"]
        elif event["outcome"] in PREDICTED:
            self._outcome = min((Outcome(event["outcome"]), self._outcome or PREDICTED[-1]), key=PREDICTED.index)

    def _final_ended(self, event: Event) -> None:
        if not event["early"]:
            if not self._finals:  # who was verified early is judged again, with the others
                self.verified, self._ratios = (), {}
            self._finals += 1
        if event["verified"]:
            self.verified = (*self.verified, event["variant"])
            if event["score"] is not None:
                self._ratios[event["variant"]] = event["score"]

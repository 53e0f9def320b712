"""What is known of a run from its events."""

from __future__ import annotations

from typing import Any

import pytest

from kernelband.lsp.child import Exit
from kernelband.lsp.liverun import LiveRun, Request

REQUEST = Request("file:///w/k.py", "/w/k.py", "k")


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def run(clock: Clock, mode: str = "measured", trials: int | None = 20, seconds: float | None = None) -> LiveRun:
    live = LiveRun("0123abcd", REQUEST, clock)
    tell(live, "run_started", run=live.id, mode=mode, device="H100", entry="/w/k.py::test_k", trials=trials, seconds=seconds)
    return live


def tell(live: LiveRun, name: str, **values: Any) -> bool:
    return live.hear({"event": name, **values})


def trial(live: LiveRun, number: int, outcome: str, best: int, score: float | None = None) -> None:
    tell(live, "trial_ended", number=number, variant=number, outcome=outcome, best=best, score=score)


def over(live: LiveRun, state: str = "finished", best: int | None = None, verified: tuple[int, ...] = ()) -> None:
    tell(live, "run_ended", state=state, reason="why", best=best, verified=list(verified), counts={"executed": 3})


def test_a_measured_run_from_start_to_end() -> None:
    clock = Clock()
    live = LiveRun("0123abcd", REQUEST, clock)
    assert (live.state, live.headline, live.fraction, live.mode) == ("running", "starting", 0.0, None)
    live = run(clock)
    tell(live, "phase_changed", phase="capture", trial=None)
    assert live.headline == "capturing"
    tell(live, "phase_changed", phase="baseline", trial=None)
    assert live.headline == "examining the original"
    tell(live, "phase_changed", phase="measure", trial=1)
    assert live.headline == "0/20"
    trial(live, 1, "slower", best=0, score=0.8)
    assert (live.headline, live.score) == ("1/20", None)
    trial(live, 2, "faster", best=2, score=1.608)
    trial(live, 12, "wrong", best=2)
    assert (live.headline, live.fraction) == ("12/20 · best 1.61×", pytest.approx(0.48))
    tell(live, "phase_changed", phase="final", trial=None)
    assert (live.headline, live.fraction) == ("verifying", 0.8)
    tell(live, "phase_changed", phase="commit", trial=None)
    tell(live, "final_ended", variant=2, verified=True, reason="", score=1.52, low=1.5, high=1.6, early=False)
    tell(live, "final_ended", variant=1, verified=False, reason="slower", score=0.9, low=0.8, high=1.0, early=False)
    assert (live.verified, live.score, live.fraction) == ((2,), 1.52, pytest.approx(0.9))
    over(live, best=2, verified=(2,))
    assert live.state == "running"  # its process is still there
    live.end(Exit(0), "")
    assert (live.state, live.headline, live.fraction, live.reason) == ("finished", "verified 1.52×", 1.0, "why")


def test_what_screening_said_is_no_result() -> None:
    live = run(Clock())
    trial(live, 1, "faster", best=1, score=1.9)
    assert live.score == 1.9
    tell(live, "phase_changed", phase="final", trial=None)
    tell(live, "final_ended", variant=1, verified=False, reason="", score=1.9, low=0.9, high=2.0, early=False)
    assert live.score is None
    over(live)
    live.end(Exit(0), "")
    assert (live.headline, live.score) == ("nothing verified", None)
    cut = run(Clock())
    trial(cut, 1, "faster", best=1, score=1.9)
    over(cut, state="interrupted")
    cut.end(Exit(130), "")
    assert (cut.headline, cut.score) == ("stopped", None)


def early(live: LiveRun, verified: bool = True) -> None:
    tell(live, "final_ended", variant=1, verified=verified, reason="", score=1.52, low=1.5, high=1.6, early=True)


def test_what_is_verified_early_is_told_until_the_last_final_has_its_say() -> None:
    live = run(Clock())
    trial(live, 1, "faster", best=1, score=1.6)
    early(live)
    assert (live.verified, live.headline, live.fraction) == ((1,), "1/20 · verified 1.52×", pytest.approx(0.04))
    trial(live, 2, "faster", best=2, score=2.5)
    assert live.headline == "2/20 · verified 1.52×"  # a figure of screening hides no result
    tell(live, "phase_changed", phase="final", trial=None)
    tell(live, "final_ended", variant=2, verified=True, reason="", score=2.4, low=2.3, high=2.5, early=False)
    tell(live, "final_ended", variant=1, verified=False, reason="slower", score=0.9, low=0.8, high=1.0, early=False)
    assert (live.verified, live.score) == ((2,), 2.4)


def test_an_early_final_that_refuses_changes_nothing() -> None:
    live = run(Clock())
    trial(live, 1, "faster", best=1, score=1.6)
    early(live, verified=False)
    assert (live.verified, live.headline) == ((), "1/20 · best 1.60×")


def test_who_stops_a_search_keeps_what_was_verified() -> None:
    live = run(Clock())
    trial(live, 1, "faster", best=1, score=1.6)
    early(live)
    over(live, state="interrupted", best=1, verified=(1,))
    live.end(Exit(130), "")
    assert (live.headline, live.verified) == ("stopped · verified 1.52×", (1,))


def test_predicted_runs_say_tiers_and_never_a_figure() -> None:
    live = run(Clock(), mode="predicted")
    trial(live, 1, "wrong", best=0, score=2.0)
    assert (live.headline, live.tier) == ("1/20", None)
    trial(live, 2, "unclear", best=2, score=2.0)
    assert (live.headline, live.tier, live.score) == ("2/20", "unclear", None)
    trial(live, 3, "likely_faster", best=3, score=2.0)
    trial(live, 4, "likely_slower", best=3, score=2.0)
    assert (live.headline, live.tier, live.score) == ("4/20 · likely faster", "likely faster", None)
    over(live, best=3)
    live.end(Exit(0), "")
    assert (live.headline, live.score) == ("likely faster", None)
    nothing = run(Clock(), mode="predicted")
    over(nothing)
    nothing.end(Exit(0), "")
    assert nothing.headline == "nothing likely faster"
    for best, said in ((None, "stopped"), (4, "stopped · best so far: variant 4")):
        stopped = run(Clock())
        over(stopped, state="interrupted", best=best)
        stopped.end(Exit(130), "")
        assert stopped.headline == said


def test_seconds_are_a_budget_too_and_the_further_one_counts() -> None:
    clock = Clock()
    live = run(clock, trials=None, seconds=60.0)
    tell(live, "phase_changed", phase="baseline", trial=None)
    clock.seconds += 25  # until the first trial can run isn't part of it
    tell(live, "phase_changed", phase="measure", trial=1)
    trial(live, 1, "faster", best=1, score=1.61)
    clock.seconds += 34.6
    assert (live.headline, live.fraction) == ("34/60 s · best 1.61×", pytest.approx(0.8 * 34.6 / 60))
    clock.seconds += 100
    assert (live.headline, live.fraction) == ("60/60 s · best 1.61×", pytest.approx(0.8))
    both = run(clock, trials=60, seconds=60.0)
    tell(both, "phase_changed", phase="compile", trial=1)
    trial(both, 30, "slower", best=0)
    clock.seconds += 15
    assert (both.headline, both.fraction) == ("30/60", pytest.approx(0.4))
    clock.seconds += 30
    assert both.headline == "45/60 s"


def test_a_resumed_run_counts_on() -> None:
    live = run(Clock(), trials=10)
    trial(live, 7, "faster", best=3, score=1.2)  # the leader is of an earlier process: its figure isn't known here
    assert (live.headline, live.counts) == ("7/10", {"executed": 1})


def test_time_stands_still_at_the_end() -> None:
    clock = Clock()
    live = run(clock)
    clock.seconds += 5
    live.end(Exit(1), "Boom.")
    clock.seconds += 5
    assert live.elapsed == 5.0


def test_notes_and_counts_are_kept() -> None:
    live = run(Clock())
    for text in ("One.", "Two."):
        assert tell(live, "noted", text=text)
        tell(live, "candidates_compiled", step=0, strategy="tiling", proposed=4, compiled=2, failed=1, duplicates=1)
    assert live.notes == ["One.", "Two."]
    assert live.counts == {"proposed": 8, "compiled": 6, "failed": 2, "duplicates": 2}
    assert not tell(live, "worker_said", executor="worker", text="noise")
    assert not tell(live, "of_a_later_version")


def test_an_error_is_its_sentence() -> None:
    live = LiveRun("0123abcd", REQUEST, Clock())
    tell(live, "error", message="It can't.", detail="why", exit_code=4)
    live.end(Exit(4), "It can't.")
    assert (live.state, live.headline, live.error, live.detail) == ("failed", "failed", "It can't.", "why")


@pytest.mark.parametrize(
    ("end", "last", "error"),
    [
        (Exit(-9), "Killed by the kernel.", "Killed by the kernel."),
        (Exit(None, "/x can't be started: no such file"), "", "/x can't be started: no such file"),
        (
            Exit(-11),
            "",
            "The search ended with exit code -11 and said nothing: `kernelband optimize` in a terminal may show why.",
        ),
    ],
)
def test_a_death_without_a_word_has_a_sentence(end: Exit, last: str, error: str) -> None:
    live = run(Clock())
    live.end(end, last)
    assert (live.state, live.error) == ("failed", error)


@pytest.mark.parametrize(("stopping", "code"), [(True, -9), (True, 130), (False, 130)])
def test_stopped_before_it_could_say_so(stopping: bool, code: int) -> None:
    live = run(Clock())
    live.stopping = stopping
    assert live.headline == ("stopping" if stopping else "starting")
    live.end(Exit(code), "Interrupted.")
    assert (live.state, live.headline, live.error) == ("interrupted", "stopped", "")


def test_a_run_that_was_done_before_it_was_stopped_is_finished() -> None:
    live = run(Clock())
    over(live)
    live.stopping = True
    live.end(Exit(0), "")
    assert live.state == "finished"


@pytest.mark.parametrize(
    ("mode", "outcome", "reason", "verified", "headline"),
    [
        ("measured", "faster", "your edit of k is faster: 1.52× (1.50 to 1.60)", (1,), "verified 1.52×"),
        ("measured", "slower", "your edit of k is slower: 0.80× (0.78 to 0.82)", (), "your edit of k is slower"),
        (
            "predicted",
            "wrong",
            "your edit of k computes something else than HEAD: by 3",
            (),
            "your edit of k computes something else than HEAD",
        ),
        ("predicted", "unclear", "predicted, not measured: your edit of k is neither", (), "unclear"),
    ],
)
def test_a_judged_edit_ends_with_its_word(mode: str, outcome: str, reason: str, verified: tuple[int, ...], headline: str) -> None:
    live = LiveRun("0123abcd", Request("file:///w/k.py", "/w/k.py", "k", judges=True), Clock())
    tell(live, "run_started", run=live.id, mode=mode, device="H100", entry="", trials=1, seconds=None)
    trial(live, 1, outcome, best=0, score=1.61 if mode == "measured" else None)
    if verified:
        tell(live, "final_ended", variant=1, verified=True, reason="", score=1.52, low=1.5, high=1.6, early=False)
    tell(live, "run_ended", state="finished", reason=reason, best=None, verified=list(verified), counts={})
    live.end(Exit(0), "")
    assert live.headline == headline

"""What the history knows of a kernel: the right runs, in the order of ``show``, from memory, and calm about a bad database."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from click.testing import CliRunner

from kernelband.cli.show import show
from kernelband.errors import HistoryError
from kernelband.history import Store, runs, trials
from kernelband.history.records import FinalRow, RunRow, TrialRow, VariantRow
from kernelband.lsp.findings import MOST_OF_A_KERNEL, Findings
from kernelband.source import between, form, patch_to_json, program_in
from tests.unit.history.rows import run_row, trial_row, variant_row

TEXT = """import triton
import triton.language as tl


@triton.jit
def add(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 1.0, mask=at < n)


def run(x):
    add[(1,)](x, 64, BLOCK=64)
"""


def final(run: str, number: int, score: float, *, verified: bool = True, cases: int = 3) -> FinalRow:
    result: dict[str, Any] = {"stage": "final", "cases": [{"case": str(i)} for i in range(cases)]}
    return FinalRow(run, number, verified, score, score - 0.1, score + 0.1, result, seconds=1.0)


def write(db: Path, row: RunRow, rows: trials.Rows | None = None, text: str = TEXT) -> None:
    with Store.write(db) as history:
        runs.begin(history, row, {row.path: text})
        if rows is not None:
            trials.write(history, rows)


def measured(run: str, path: str, **more: Any) -> RunRow:
    return run_row(
        run, path=path, state="finished", environment={"triton": "3.6.0", "torch": "2.9", "gpus": [{"name": "NVIDIA H100 80GB"}]}, **more
    )


def variant(run: str, number: int, parent: int = 0, **more: Any) -> VariantRow:
    row = variant_row(run, number)
    return evolve(row, parent=parent, key=f"k{number}", what=f"what {number}", why=f"why {number}", **more)


def trial(run: str, number: int, score: float = 1.2, **more: Any) -> TrialRow:
    return evolve(trial_row(run, number), score=score, **more)


def three(run: str) -> trials.Rows:
    """Screening liked 3 best, but it wasn't verified; 2 stands on 1."""
    return trials.Rows(
        variants=(variant(run, 1), variant(run, 2, 1, strategy="pipeline", move="stages"), variant(run, 3)),
        trials=(trial(run, 1, 1.3), trial(run, 2, 1.5), trial(run, 3, 1.9)),
        finals=(final(run, 1, 1.61), final(run, 2, 1.44), final(run, 3, 1.01, verified=False)),
    )


def test_nothing_is_known_without_a_database(findings: Findings, path: str) -> None:
    assert findings.refresh() is False
    assert findings.problem == ""
    assert findings.find(path, "add").runs == ()
    assert findings.find(path, "add").telling is None
    assert findings.original("a1b2c3") is None
    with pytest.raises(HistoryError, match="no history"):
        findings.load("a1b2c3", [1])


def test_an_original_is_remembered_until_its_run_changes(findings: Findings, db: Path, path: str) -> None:
    write(db, measured("a1b2c3", path), three("a1b2c3"))
    findings.refresh()
    assert findings.remembered("a1b2c3") is None  # nobody has read it yet
    assert findings.original("a1b2c3") is findings.remembered("a1b2c3") is not None
    with Store.write(db) as store:
        runs.beat(store, "a1b2c3", phase="search", seconds_used=2.0, clock={})
    findings.refresh()
    assert findings.remembered("a1b2c3") is None


def test_verified_variants_come_with_what_the_final_said(findings: Findings, db: Path, path: str) -> None:
    write(db, measured("a1b2c3", path), three("a1b2c3"))
    assert findings.refresh() is True
    (run,) = findings.find(path, "add").runs
    assert (run.id, run.mode, run.state, run.device, run.gpu, run.trials) == (
        "a1b2c3",
        "measured",
        "finished",
        "h100",
        "NVIDIA H100 80GB",
        3,
    )
    assert run.versions == {"triton": "3.6.0", "torch": "2.9"}
    assert [v.number for v in run.variants] == [1, 2], "by their finals; what wasn't verified isn't shown"
    first, second = run.variants
    assert (second.ratio, second.low, second.high, second.cases) == (1.44, pytest.approx(1.34), pytest.approx(1.54), 3)
    assert second.moves == ("tiling.blocks", "pipeline.stages")
    assert (first.what, first.why, first.moves, first.tier, first.decision) == ("what 1", "why 1", ("tiling.blocks",), "", "")
    assert findings.find(path, "sub").runs == ()
    assert findings.find(path + "x", "add").runs == ()


def test_what_a_run_called_its_best_comes_first(findings: Findings, db: Path, path: str) -> None:
    write(db, measured("a1b2c3", path, summary={"best": 2}), three("a1b2c3"))  # as fast within 1 %, with fewer edits
    findings.refresh()
    assert [v.number for v in findings.find(path, "add").runs[0].variants] == [2, 1]


@pytest.mark.parametrize(("mode", "best"), [("measured", None), ("measured", 4), ("predicted", None), ("predicted", 4)])
def test_the_order_is_that_of_show(findings: Findings, path: str, mode: str, best: int | None) -> None:
    db = findings.db
    scores = [1.2, 1.5, 1.1, 1.4, 1.5]
    tiers = ["unclear", "likely slower", "likely faster", "unclear", "likely faster"]
    rows = trials.Rows(
        variants=tuple(variant("a1", n, forecast={"tier": t, "fact": f"fact {n}"}) for n, t in enumerate(tiers, 1)),
        trials=tuple(trial("a1", n, s, correctness="passed" if mode == "measured" else "interpreted") for n, s in enumerate(scores, 1)),
        finals=tuple(final("a1", n, 2.0 - n / 10) for n in range(1, 6)) if mode == "measured" else (),
    )
    write(db, measured("a1", path, mode=mode, summary={"best": best}), rows)
    findings.refresh()
    told = CliRunner().invoke(show, ["a1", "--db", str(db)], env={"COLUMNS": "200"}).output
    shown = [int(line.split()[0]) for line in told.splitlines() if line.split()[:1] and line.split()[0].isdecimal()]
    assert sorted(shown) == [1, 2, 3, 4, 5]
    assert [v.number for v in findings.find(path, "add").runs[0].variants] == shown


def test_a_prediction_has_a_tier_with_its_fact_and_no_figure(findings: Findings, db: Path, path: str) -> None:
    known = {"tier": "likely faster", "fact": "fewer bytes", "score": 7.77}
    child = {**known, "parent_gains": ["more warps"], "parent_costs": []}
    rows = trials.Rows(
        variants=(
            variant("a1", 1, forecast=known),
            variant("a1", 2, 1, forecast=child),
            variant("a1", 3, forecast=known),
            variant("a1", 4),
        ),
        trials=(
            *(trial("a1", n, 9.9, correctness="interpreted", performance="not_measured") for n in (1, 2, 4)),
            trial("a1", 3, 9.9, correctness="interpreted", fault="crashed"),
        ),
    )
    write(db, measured("a1", path, mode="predicted"), rows)
    findings.refresh()
    (run,) = findings.find(path, "add").runs
    assert run.gpu == ""
    assert [(v.number, v.tier) for v in run.variants] == [(1, "likely faster"), (2, "likely faster"), (4, "unclear")]
    assert [v.fact for v in run.variants[:2]] == ["fewer bytes", "against variant 1, more warps; against the original, fewer bytes"]
    assert all((v.ratio, v.low, v.high, v.cases, v.verified) == (None, None, None, 0, False) for v in run.variants)
    said = repr(evolve(run, created=0.0))  # a time may hold any digits
    assert "7.77" not in said
    assert "9.9" not in said


def test_decisions_show_and_the_last_one_counts(findings: Findings, db: Path, path: str) -> None:
    write(db, measured("a1", path), three("a1"))
    findings.refresh()
    with Store.read(db) as history:
        trials.decide(history, "a1", 1, "reject")
        trials.decide(history, "a1", 1, "accept")
        trials.decide(history, "a1", 3, "accept")
    assert findings.refresh() is True
    decided = {v.number: (v.decision, v.verified, v.ratio) for v in findings.find(path, "add").runs[0].variants}
    assert decided == {1: ("accept", True, 1.61), 2: ("", True, 1.44), 3: ("accept", False, None)}


def test_the_newest_runs_come_first_and_what_is_forgotten_goes(findings: Findings, db: Path, path: str) -> None:
    for n in range(MOST_OF_A_KERNEL + 2):
        write(db, measured(f"a{n}", path, created=float(n)), three(f"a{n}") if n == 1 else None)
    write(db, measured("b1", path, kernel="other"))
    findings.refresh()
    assert [r.id for r in findings.find(path, "add").runs] == ["a6", "a5", "a4", "a3", "a2"]
    with Store.read(db) as history:
        for run in ("a6", "a5", "a4"):
            runs.forget(history, run)
    findings.refresh()
    found = findings.find(path, "add")
    assert [r.id for r in found.runs] == ["a3", "a2", "a1", "a0"]
    assert found.telling is not None
    assert found.telling.id == "a1"


def test_a_live_run_is_followed_and_a_dead_one_is_interrupted(
    findings: Findings, db: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(db, run_row("a1", path=path))
    findings.refresh()
    assert findings.find(path, "add").runs[0].state == "running"
    with Store.read(db) as history:
        trials.write(history, trials.Rows(variants=(variant("a1", 1),), trials=(trial("a1", 1),)))
    assert findings.refresh() is True
    assert findings.find(path, "add").runs[0].trials == 1
    assert findings.refresh() is False, "nothing was committed since"
    write(db, run_row("a2", path=path, host="elsewhere"))
    findings.refresh()
    assert findings.find(path, "add").runs[0].state == "running"
    later = time.time() + 60
    monkeypatch.setattr(time, "time", lambda: later)
    assert findings.refresh() is True, "a heartbeat grows old without a commit"
    assert findings.find(path, "add").runs[0].state == "interrupted"


def test_a_renamed_or_copied_kernel_is_found_by_the_form_of_its_program(findings: Findings, db: Path, path: str) -> None:
    elsewhere = path.replace("k.py", "other.py")
    own = form(program_in({elsewhere: TEXT.replace("64, BLOCK=64", "64,  BLOCK = 64")}, elsewhere, "add"))
    rows = three("a1")
    write(db, measured("a1", path), evolve(rows, variants=tuple(evolve(v, form=own if v.id == 2 else None) for v in rows.variants)))
    write(db, measured("a2", path, created=1.0), trials.Rows(variants=(variant("a2", 0, form="other"),)))
    write(db, measured("a3", path, created=0.0), trials.Rows(variants=(variant("a3", 0, form=own),)))
    assert findings.formed(own) == [], "nothing is read yet"
    findings.refresh()
    found = [(r.id, dict(r.forms), [v.number for v in r.variants]) for r in findings.formed(own)]
    assert found == [("a1", {own: 2}, [1, 2]), ("a3", {own: 0}, [])]
    assert findings.find(elsewhere, "add").runs == ()
    assert [r.id for r in findings.find(path, "add").runs] == ["a1", "a2", "a3"]


def test_what_it_takes_to_apply_is_read_when_asked(findings: Findings, db: Path, path: str) -> None:
    patch = between({path: TEXT}, {path: TEXT.replace("BLOCK=64", "BLOCK=128")})
    rows = three("a1b2c3")
    write(db, measured("a1b2c3", path), evolve(rows, variants=tuple(evolve(v, patch=patch_to_json(patch)) for v in rows.variants)))
    findings.refresh()
    found = findings.load("a1b2c3", [1, 2])
    assert (found.path, found.kernel, found.base_texts, found.patches) == (path, "add", {path: TEXT}, {1: patch, 2: patch})
    with pytest.raises(HistoryError, match="has no variant 9"):
        findings.load("a1b2c3", [9])
    with pytest.raises(HistoryError, match="ffff"):
        findings.load("ffff", [1])


# ---------------------------------------------------------------- much of it


def many(db: Path, path: str, *, of: int, each: int, mode: str) -> None:
    """``of`` runs of ``each`` trials, with results as large as real ones."""
    facts = {"tier": "likely faster", "fact": "fewer bytes", "launches": [{"case": "c" * 16, "key": "k" * 64, "kernel": "add"}] * 8}
    result = {"correctness": "passed", "cases": [{"case": "c" * 16, "device_before_us": 1.0, "device_after_us": 1.0}] * 8}
    with Store.write(db) as history:
        for r in range(of):
            run = f"{r:08x}"
            runs.begin(history, measured(run, path, created=float(r), mode=mode), {path: TEXT})
            found = trials.Rows(
                variants=tuple(variant(run, n, forecast=facts) for n in range(1, each + 1)),
                trials=tuple(trial(run, n, correctness="interpreted", result=result) for n in range(1, each + 1)),
                finals=(final(run, 1, 1.5),) if mode == "measured" else (),
            )
            trials.write(history, found)


def calls_of_a_refresh(folder: Path, *, of: int, each: int, mode: str) -> int:
    """How many functions a refresh calls after one more trial of the newest run. Unlike seconds, it is the same on any machine."""
    db, path, last = folder / "history.db", str(folder / "k.py"), f"{of - 1:08x}"
    many(db, path, of=of, each=each, mode=mode)
    findings = Findings(db)
    findings.refresh()
    with Store.read(db) as history:
        trials.write(history, trials.Rows(variants=(variant(last, each + 1),), trials=(trial(last, each + 1),)))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert findings.refresh() is True
    finally:
        sys.setprofile(before)
    assert findings.find(path, "add").runs[0].trials == each + 1
    findings.close()
    return calls


@pytest.mark.parametrize(
    ("few", "more", "each"),
    [
        ((1, 100, "predicted"), (1, 300, "predicted"), 3),
        ((10, 2, "measured"), (60, 2, "measured"), 15),
        ((2, 20, "measured"), (2, 220, "measured"), 1),
    ],
    ids=["trials of a prediction", "runs", "trials"],
)
def test_a_long_history_is_followed_with_little_work(
    tmp_path: Path, few: tuple[int, int, str], more: tuple[int, int, str], each: int
) -> None:
    """Each trial or run of the past costs a refresh so many calls at most: none of them is read anew."""
    work: list[int] = []
    for count, trials_each, mode in (few, more):
        folder = tmp_path / f"{count} of {trials_each}"
        folder.mkdir()
        work.append(calls_of_a_refresh(folder, of=count, each=trials_each, mode=mode))
    added = (more[0] - few[0]) or (more[1] - few[1])
    assert work[1] - work[0] <= each * added, work


def test_answers_come_from_memory_while_a_refresh_runs(findings: Findings, db: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(db, measured("a1", path))
    findings.refresh()
    inside, go = threading.Event(), threading.Event()
    real = Store.rows

    def slow(self: Store, *args: Any) -> Any:
        inside.set()
        assert go.wait(60)
        return real(self, *args)

    write(db, measured("a2", path))
    monkeypatch.setattr(Store, "rows", slow)
    thread = threading.Thread(target=findings.refresh)
    thread.start()
    try:
        assert inside.wait(60)
        assert [r.id for r in findings.find(path, "add").runs] == ["a1"]
    finally:
        go.set()
        thread.join(60)
    assert len(findings.find(path, "add").runs) == 2


def test_the_files_of_the_database_tell_that_somebody_wrote(findings: Findings, db: Path, path: str) -> None:
    assert findings.state() == (None, None)
    with Store.write(db) as history:
        runs.begin(history, measured("a" * 8, path), {path: TEXT})
        before = findings.state()
        assert findings.refresh()
        assert findings.state() == before  # who reads writes nothing
        runs.begin(history, measured("b" * 8, path), {path: TEXT})
        assert findings.state() != before


def test_runs_of_one_text_share_it(findings: Findings, db: Path, path: str) -> None:
    for run in ("a" * 8, "b" * 8):
        write(db, measured(run, path), three(run))
    one, two = (findings.load(run * 8, [1]).base_texts[path] for run in "ab")
    assert one is two == TEXT

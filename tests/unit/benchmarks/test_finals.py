"""What finals.py remembers between its calls, what still fits into one, and what its sentences count."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import finals
import finals_aa
import finals_again
import finals_context
import finals_cost
import finals_proofs
import pytest
from finals_context import Context, Played, played
from gpus import FailedError, Lane
from ledger import Allowance, Ledger, LedgerError
from targets import examples, label

from kernelband.history import Store, runs, trials
from kernelband.history.records import FinalRow, VariantRow
from kernelband.source import patch_to_json
from kernelband.source.patch import between

SECONDS = {"seconds": 10.0, "setup_s": 30.0, "spent": {"check": 6.0, "measure": 4.0}}


def verdict(called: str = "inconclusive", ratio: float | None = 1.0) -> dict[str, Any]:
    low, high = (None, None) if ratio is None else (ratio - 0.1, ratio + 0.1)
    return {"called": called, "verified": called == "faster", "reason": "", "ratio": ratio, "low": low, "high": high, "rounds": []}


def context(folder: Path, step: str, seconds: float | None = None, **options: Any) -> Context:
    given = argparse.Namespace(entry="bench", python=None, worker=None, limit=400.0, **options)
    return Context(step, given, Ledger(folder / "results.jsonl"), Allowance(seconds), [Lane(None, None)])


@pytest.fixture
def example(tmp_path: Path) -> Path:
    file = tmp_path / "scale.py"
    file.write_text('"""Scales."""\n')
    return file


# ------------------------------------------------------------ ledger


def test_results_are_there_for_the_next_call_and_a_line_that_was_cut_off_is_not(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    first = Ledger(file)
    first.add("aa", "scale 1", seconds=3.0)
    first.add("aa", "scale 2", seconds=5.0)
    file.write_text(file.read_text()[:-7])
    second = Ledger(file)
    assert [r["key"] for r in second.of("aa")] == ["scale 1"]
    second.add("aa", "scale 2", seconds=9.0)
    assert [(r["key"], r["seconds"]) for r in Ledger(file).of("aa")] == [("scale 1", 3.0), ("scale 2", 9.0)]


def test_a_failure_stands_until_its_example_comes_out(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "r.jsonl")
    ledger.add("aa", "scale", error="boom")
    ledger.add("aa", "scaled 1")
    assert [r["error"] for r in ledger.failed("aa")] == ["boom"]
    assert [r["key"] for r in ledger.of("aa")] == ["scaled 1"]
    ledger.add("aa", "scale 1")
    assert ledger.failed("aa") == []


@pytest.mark.parametrize("text", ["no json\n", "[]\n", '{"step": "aa"}\n', '{"step": "aa", "key": 1}\n'])
def test_another_file_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(text)
    with pytest.raises(LedgerError, match=r"Line 1 of .* is no result"):
        Ledger(file)
    assert file.read_text() == text


def test_what_fits_is_judged_by_the_longest_so_far(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "r.jsonl")
    assert ledger.longest("aa", "seconds", 20.0) == 20.0
    ledger.add("aa", "a 1", seconds=7.0)
    ledger.add("aa", "b 1", seconds=12.0)
    ledger.add("cost", "b", seconds=99.0)
    assert ledger.longest("aa", "seconds", 20.0) == 12.0
    assert Allowance(None).fits([1e9])
    assert not Allowance(10.0).fits([6.0, 5.0])


# ------------------------------------------------------------ a process of finals


def opened(server: Path) -> dict[str, Any]:
    return {"opened": {"device": "H200", "versions": "torch", "setup_s": 1.0, "judge": str(server / "kernelband" / "__init__.py")}}


def test_finals_that_ended_count_although_a_later_one_failed(tmp_path: Path) -> None:
    found = played([opened(tmp_path), {"final": "a 1", "seconds": 1.0}], "It crashed.", tmp_path)
    assert ([f["final"] for f in found.finals], found.error) == (["a 1"], "It crashed.")


def test_a_process_without_a_final_failed_or_had_no_time_or_was_another_judge(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=r"It crashed\."):
        played([], "It crashed.", tmp_path)
    with pytest.raises(FailedError, match=r"It crashed\."):
        played([opened(tmp_path)], "It crashed.", tmp_path)
    with pytest.raises(finals_context.LaterError):
        played([opened(tmp_path)], "", tmp_path)
    with pytest.raises(FailedError, match="installed over it"):
        played([opened(tmp_path / "elsewhere"), {"final": "a 1"}], "", tmp_path / "server")


def test_processes_find_the_judge_that_is_meant_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "server")
    monkeypatch.chdir(tmp_path)
    found = context(tmp_path, "cost").environment(Lane("3", None), Path("old/server"))
    assert found["PYTHONPATH"].split(":") == [str(tmp_path / "old" / "server"), str(tmp_path / "server")]
    assert found["CUDA_VISIBLE_DEVICES"] == "3"


# ------------------------------------------------------------ aa


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was asked of processes; each holds at most two finals."""
    asked: list[dict[str, Any]] = []

    def play(_self: Context, target: Path, _lane: Lane, candidates: Any, wanted: Any, **more: Any) -> Played:
        asked.append({"target": target, "candidates": candidates, "finals": wanted, **more})
        done = [{"final": f["key"], **SECONDS, "cases": [], "verdicts": [verdict() for _ in f["candidates"]]} for f in wanted[:2]]
        return Played("H200", "torch", done, "")

    monkeypatch.setattr(Context, "play", play)
    return asked


def test_the_next_call_holds_only_the_finals_that_are_missing(
    tmp_path: Path, example: Path, plays: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        assert finals_aa.run(context(tmp_path, "aa", finals=3), [example]) == 0
    assert [[f["key"] for f in p["finals"]] for p in plays] == [["scale 1", "scale 2", "scale 3"], ["scale 3"]]
    texts = [c["texts"]["scale.py"] for p in plays for c in p["candidates"]]
    assert len(set(texts)) == 3
    assert example.read_text() not in texts
    assert all(text.endswith(example.read_text()) for text in texts)
    assert capsys.readouterr().out.rstrip().endswith("3 finals, 0 called faster.")


def test_an_aa_final_that_is_called_anything_is_counted_and_fails(tmp_path: Path, example: Path) -> None:
    ledger = Ledger(tmp_path / "results.jsonl")
    for n, called in enumerate(("inconclusive", "faster", "wrong"), 1):
        common = {"example": "scale", "device": "H200", "versions": "torch", "cases": [], **SECONDS}
        ledger.add("aa", f"scale {n}", **common, **verdict(called))
    assert finals_aa.run(context(tmp_path, "aa", finals=3), [example]) == 1
    assert finals_aa.summary(ledger.of("aa"), ["scale"])[-1] == "3 finals, 1 called faster, 1 wrong."


def test_an_example_that_does_not_fit_is_left_and_one_that_fails_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = context(tmp_path, "aa", seconds=5.0)

    def work(target: Path, _lane: Lane) -> list[str]:
        if target.stem == "bad":
            raise FailedError("It ended with code 6.")
        here.need(50.0 if target.stem == "long" else 1.0)
        return [f"{target.stem} done"]

    assert here.each([Path("bad.py"), Path("long.py"), Path("short.py")], work) == 1
    assert capsys.readouterr().out.splitlines() == ["bad: It ended with code 6.", "short done"]
    assert [(r["key"], r["error"]) for r in here.ledger.failed("aa")] == [("bad", "It ended with code 6.")]


# ------------------------------------------------------------ again


def winner(key: str, text: str = "", **more: Any) -> dict[str, Any]:
    original = finals_again.digest(text)
    first = {"verified": True, "ratio": 1.5, "low": 1.4, "high": 1.6, "device": "H200", "versions": "torch", "when": 0.0}
    return {"key": key, "example": "scale", "texts": {"scale.py": key}, "original": original, "numerics": "exact", **first, **more}


@pytest.mark.parametrize(("second", "inside"), [(1.4, True), (1.6, True), (1.39, False), (1.61, False), (None, False)])
def test_a_second_ratio_is_inside_the_interval_that_was_shown_or_not(second: float | None, inside: bool) -> None:
    found = finals_again.judged(winner("a"), {**verdict(ratio=second), "rounds": [1.3, 1.5, 1.55]})
    assert (found["inside"], found["rounds_inside"]) == (inside, 2)


def test_winners_are_measured_again_three_together_verified_ones_first(tmp_path: Path, example: Path, plays: list[dict[str, Any]]) -> None:
    ledger = Ledger(tmp_path / "results.jsonl")
    for n in range(7):
        ledger.add("winner", **winner(f"scale {n}", example.read_text(), verified=n != 0))
    for left in (1, 0):  # a process holds two finals
        finals_again.again(context(tmp_path, "again"), [example])
        assert 7 - len(Ledger(ledger.path).of("again")) == left
    assert [c["texts"]["scale.py"] for c in plays[0]["candidates"]] == [f"scale {n}" for n in (1, 2, 3, 4, 5, 6, 0)]
    assert [f["candidates"] for f in plays[0]["finals"]] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [c["texts"]["scale.py"] for c in plays[1]["candidates"]] == ["scale 0"]
    assert plays[0]["device"] == "H200"


def test_winners_of_an_example_that_has_changed_are_not_measured(
    tmp_path: Path, example: Path, plays: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    Ledger(tmp_path / "results.jsonl").add("winner", **winner("scale 1", "another text"))
    finals_again.again(context(tmp_path, "again"), [example])
    assert plays == []
    assert "scale: the example has changed" in capsys.readouterr().out


def test_the_share_inside_is_that_of_verified_ones_and_of_all() -> None:
    records = [finals_again.judged(winner("a", verified=v), verdict(ratio=r)) for v, r in ((True, 1.5), (True, 1.0), (False, 1.0))]
    where, verified, every = finals_again.summary([{**r, "device": "H200", "versions": "torch", "when": 600.0} for r in records])
    assert where.endswith("10 to 10 minutes after the first time.")
    assert verified.startswith("2 winners measured again, 1 inside the interval that was shown first (50%)")
    assert every.startswith("3 finalists, verified or not measured again, 1 inside")


def test_finalists_of_a_history_are_texts_of_their_own(monkeypatch: pytest.MonkeyPatch, example: Path) -> None:
    text = example.read_text()
    edited = text.replace("Scales", "Doubles")

    class Run:
        id, device, mode, environment = "r", "H200", "measured", {"torch": "2", "triton": "3", "python": "3.12"}

    row = {"run": "r", "parent": 0, "strategy": "s", "move": "m", "parameters": {}, "key": "", "what": "w", "why": ""}
    patch = patch_to_json(between({str(example): text}, {str(example): edited}))
    variant = VariantRow(id=4, numerics="reassociates", author="rewriter", patch=patch, identity="", forecast={}, **row)
    rows = [FinalRow("r", 4, True, 1.5, 1.4, 1.6, {}, seconds=1.0), FinalRow("r", 5, False, None, None, None, {}, seconds=1.0)]
    monkeypatch.setattr(runs, "find", lambda *_: Run)
    monkeypatch.setattr(runs, "base_texts", lambda *_: {str(example): text})
    monkeypatch.setattr(trials, "variants", lambda *_: (variant,))
    monkeypatch.setattr(trials, "finals", lambda *_: tuple(rows))
    (found,) = finals_again.finalists(Store.__new__(Store), example)
    assert found["texts"] == {"scale.py": edited}
    assert (found["numerics"], found["low"], found["original"]) == ("reassociates", 1.4, finals_again.digest(text))


# ------------------------------------------------------------ cost


def test_candidates_are_what_was_found_and_copies_for_the_rest(example: Path) -> None:
    given, kind = finals_cost.chosen([winner("scale b", verified=False), winner("scale a"), winner("x", example="other")], example)
    assert [c["texts"]["scale.py"] for c in given[:2]] == ["scale a", "scale b"]
    assert given[2]["texts"]["scale.py"].endswith(example.read_text())
    assert (len(given), kind) == (3, "2 found, 1 copies")


def test_a_final_in_which_something_was_refused_is_left_out_of_the_medians() -> None:
    def took(seconds: float, called: str = "faster") -> dict[str, Any]:
        return {"seconds": seconds, "spent": {"check": seconds}, "called": [called]}

    def record(key: str, new: float, old: float, called: str = "faster") -> dict[str, Any]:
        sides = {"new": {s: took(new) for s in ("one", "three")}, "old": {s: took(old, called) for s in ("one", "three")}}
        return {"key": key, "candidates": "3 copies", "device": "H200", "versions": "torch", **sides}

    said = "\n".join(finals_cost.summary([record("a", 12.0, 10.0), record("b", 13.0, 10.0), record("c", 30.0, 1.0, "crashed")]))
    assert "A final of one: left out are c" in said
    assert "A final of one: 12.5 s in the median of 2 examples" in said
    assert "new over old: 1.25× in the median, 1.30× at most" in said


# ------------------------------------------------------------ proofs


def test_every_example_can_be_made_slower_and_each_kernel_changed() -> None:
    for target in examples():
        name, text = finals_context.text_of(target)
        kernel = str(target).partition("::")[2]
        assert finals_proofs.slowed(label(target), text) != text, name
        other = finals_proofs.changed(text, kernel)
        before, after = text.splitlines(), other.splitlines()
        (line,) = [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
        assert not kernel or line > next(n for n, x in enumerate(before) if f"def {kernel}" in x)
        compile(other, name, "exec")


def test_a_proof_counts_when_it_is_confirmed_and_the_changed_kernel_is_not() -> None:
    def record(proof: bool, check: int = 0, changed: int = 10) -> dict[str, Any]:
        said = {"verify": "faster.", "verify_s": 1.0, "check_said": "", "check_s": 2.0, "changed_said": ""}
        return {"key": "a", "proof": proof, "check": check, "changed": changed, **said}

    records = [record(True), record(True, check=11), record(True, changed=0), record(False)]
    assert [finals_proofs.good(r) for r in records] == [True, False, False, False]
    assert finals_proofs.summary(records)[0] == (
        "3 proofs of 4 examples; 2 confirmed by another process, 2 not confirmed with one changed line of the kernel."
    )


# ------------------------------------------------------------ the command line


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["aa", "--seconds", "0"],
        ["aa", "there_is_no_such_file.py"],
        ["cost", "--old", "."],
        ["proofs", "--gpu", "voodoo"],
        ["aa", "--results", "no_such_folder/r.jsonl"],
        ["aa", "--gpus", "0", "--worker", "ssh box"],
    ],
)
def test_what_is_wrong_with_the_arguments_is_one_sentence(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["finals.py", *words])
    with pytest.raises(SystemExit) as ended:
        finals.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.endswith(".\n")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_results_of_something_else_are_refused_and_kept(
    tmp_path: Path, example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "other.jsonl"
    kept.write_text(json.dumps({"a": 1}) + "\n")
    monkeypatch.setattr(sys, "argv", ["finals.py", "aa", "--results", str(kept), str(example)])
    with pytest.raises(SystemExit):
        finals.main()
    assert "is no result" in capsys.readouterr().err

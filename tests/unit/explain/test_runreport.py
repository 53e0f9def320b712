"""The report of a run, from whole searches: every figure is one of its rows, and none is in the report of a prediction."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import attrs
import pytest
from attrs import evolve

from kernelband.explain.course import course
from kernelband.explain.kept import read
from kernelband.explain.reportshape import RunReport, State
from kernelband.explain.runreport import MOST_TOLD, run_report, to_json
from kernelband.history import Store, runs, trials
from kernelband.history.records import ArmRow, PullRow
from kernelband.search.events import RunEnded
from kernelband.search.resume import options_of
from tests.unit.cli.test_figures import LARGE, TIMES, database, measured, verdict
from tests.unit.history.rows import run_row, trial_row, variant_row
from tests.unit.search.fake_lab import FakeAuthor
from tests.unit.search.world import TROUBLES, World, interrupted


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, RunEnded, dict[str, Any]]:
    """A measured search with everything that can go wrong, how it ended, and its report."""
    world = World(tmp_path_factory.mktemp("searched"))
    ended = world.run(world.options(trials=30), author=FakeAuthor(TROUBLES))
    return world, ended, told(world.db)


def told(db: Path, run: str = "last") -> dict[str, Any]:
    with Store.read(db) as store:
        report = to_json(run_report(store, runs.find(store, run)))
    return json.loads(json.dumps(report, allow_nan=False))


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flat(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from flat(item, name)
    else:
        yield name, value


# ------------------------------------------------------------ a measured search


def test_a_measured_search(searched: tuple[World, RunEnded, dict[str, Any]]) -> None:
    world, ended, report = searched
    with world.store() as store:
        kept = read(store, runs.find(store, ended.run))
    run = report["run"]
    assert (run["id"], run["mode"], run["state"], run["phase"], run["best"]) == (ended.run, "measured", "finished", "done", ended.best)
    assert run["reason"] == ended.reason
    assert run["ended_s"] >= run["created_s"]
    assert run["cost"]["seconds_s"] == pytest.approx(ended.seconds, abs=30.0)
    assert run["cost"]["model"] is None
    assert (run["cost"]["to_verified_s"], run["cost"]["to_checked_s"]) == (ended.seconds_to_verified, None)
    assert run["cost"]["to_verified_s"] > 0
    assert (run["versions"]["kernelband"], run["versions"]["triton"]) == (kept.run.version, kept.run.environment["triton"])
    counts = report["counts"]
    assert {k: counts[k] for k in ("proposed", "compiled", "executed", "verified", "duplicates", "compile_errors")} == {
        k: ended.counts.get(k, 0) for k in ("proposed", "compiled", "executed", "verified", "duplicates", "compile_errors")
    }
    by_state: dict[str, list[str]] = {}
    for v in report["variants"]:
        by_state.setdefault(v["state"], []).append(v["parameters"].get("trouble", ""))
    assert by_state["wrong"] == ["wrong"]
    assert sorted(by_state["failed"]) == ["crashed", "oom", "timeout"]
    assert (counts["wrong"], counts["failed"], counts["verified"]) == (1, 3, len(by_state["verified"]))
    assert {(d["outcome"], bool(d["reason"])) for d in report["dropped"]} == {("compile_error", True), ("duplicate", False)}
    verified = {f.variant: f for f in kept.finals.values() if f.verified}
    for v in report["variants"]:
        final = verified.get(v["number"])
        assert (v["ratio"] is not None) == (final is not None)
        if final is not None:
            assert v["ratio"] == {"value": final.score, "low": final.low, "high": final.high}
            assert v["figures"]["wholes"][0]["geometric_mean"] == v["ratio"]
        assert v["tier"] is None
        assert "diff --git" in v["patch"]
        assert v["explanation"][0]["text"].startswith("What: ")
    assert [v["number"] for v in report["variants"]][: len(verified)] == sorted(
        verified, key=lambda n: -next(t.score or 0 for t in kept.trials if t.variant == n)
    )


def test_the_course_is_what_the_search_said_as_it_went(searched: tuple[World, RunEnded, dict[str, Any]]) -> None:
    world, _, report = searched
    steps, said = report["course"], world.named("trial_ended")
    assert [(s["trial"], s["variant"], s["best_variant"]) for s in steps] == [(e.number, e.variant, e.best) for e in said]
    right = {e.variant for e in said if e.outcome in ("faster", "slower", "inconclusive")}
    assert {s["variant"] for s in steps if s["screening_score"] is not None} == right
    assert {s["stage"] for s in steps} == {"screening"}
    best = 1.0
    for s in steps:
        best = max(best, s["screening_score"] or 0.0)
        assert s["best_screening_score"] == pytest.approx(best)
    seconds = [s["seconds_s"] for s in steps]
    assert seconds == sorted(seconds)
    assert 0 < seconds[0] <= seconds[-1] <= report["run"]["cost"]["seconds_s"] + 0.1


def test_arms_and_clusters_fit_each_other(world: World) -> None:
    world.run(world.options(trials=12))
    report = told(world.db)
    clusters = report["clusters"]["rows"]
    assert clusters
    assert {a["cluster"] for a in report["arms"]["rows"]} == {c["cluster"] for c in clusters}
    members = sorted(m for c in clusters for m in c["members"])
    right = [v["number"] for v in report["variants"] if v["state"] in ("verified", "screened", "not verified")]
    assert members == sorted([0, *right])
    for c in clusters:
        assert c["representative"] in c["members"]
        assert c["size"] == len(c["members"])
    where = {m: c["cluster"] for c in clusters for m in c["members"]}
    assert all(v["cluster"] == where.get(v["number"]) for v in report["variants"])
    assert sum(a["pulls"] for a in report["arms"]["rows"]) == report["counts"]["executed"]
    assert "exhausted" in {a["state"] for a in report["arms"]["rows"]}, "five of six strategies have nothing to propose here"


@pytest.mark.parametrize("policy", ["random", "greedy"])
def test_a_policy_without_clusters_says_so(world: World, policy: str) -> None:
    world.run(world.options(policy=policy))
    report = told(world.db)
    assert report["clusters"]["rows"] == []
    assert "kept no clusters" in report["clusters"]["reason"]
    assert report["arms"]["rows"]


# ------------------------------------------------------------ a prediction


@pytest.mark.parametrize("policy", ["kernelband", "greedy"])
def test_a_prediction_has_no_figure_of_a_variant(world: World, policy: str) -> None:
    world.run(world.options(policy=policy), measured=False)
    report = told(world.db)
    assert report["run"]["mode"] == "predicted"
    assert (report["run"]["cost"]["to_verified_s"], report["run"]["cost"]["to_checked_s"] is None) == (None, False)
    for v in report["variants"]:
        assert (v["state"], v["ratio"], v["figures"]) == ("checked", None, None)
        assert v["tier"] in ("likely faster", "unclear", "likely slower")
    assert {v["outcome"] for v in report["variants"]} == {v["tier"] for v in report["variants"]}
    order = [("likely faster", "unclear", "likely slower").index(v["tier"]) for v in report["variants"]]
    assert order == sorted(order)
    for s in report["course"]:
        assert (s["screening_score"], s["best_screening_score"], s["stage"]) == (None, None, "predicted")
        assert s["best_tier"] in ("likely faster", "unclear", "likely slower")
    assert {a["mean_reward"] for a in report["arms"]["rows"]} == {None}
    assert {c["used_percent"] for c in report["clusters"]["rows"]} <= {None}
    for p in report["roofline"]["points"]:
        assert (p["how"], p["stage"], p["flops_per_s"], p["dram_bytes_per_s"], p["device_us"]) == ("predicted", None, None, None, None)
    figures = [(n, x) for n, x in flat(report["variants"]) if isinstance(x, float) and n != "seconds_s"]
    assert figures == []
    said = json.dumps([report["variants"], report["arms"], report["course"]])
    assert not re.search(r"\d[x×](?!\w)|forecast [+-]", said), "no ratio in any sentence"


def test_words_of_a_forecast_are_left_out_of_a_predictions_arms(tmp_path: Path) -> None:
    db = tmp_path / "h.db"
    for run, mode in (("a1", "predicted"), ("b1", "measured")):
        rows = [
            ArmRow(run, 0, "tiling", 1, 0.5, 1.0, "l2 at 23 % of peak; forecast +0.53"),
            ArmRow(run, 0, "fusion", 1, 0.5, 1.0, "2.08× of the best so far by the forecast"),
            ArmRow(run, 0, "access_layout", 1, 0.5, 1.0, "2.08x of the best so far by the forecast"),  # an older history
            ArmRow(run, 0, "pipeline", 1, 0.5, 0.0, "sm at 90 % of peak: masked"),
            ArmRow(run, 0, "reordering", 1, 0.5, 0.0, "exhausted: nothing left to propose"),
        ]
        with Store.write(db) as store:
            runs.begin(store, run_row(run, mode=mode, state="finished"), {})
            trials.write(store, trials.Rows(arms=tuple(rows)))
    predicted, seen = told(db, "a1")["arms"]["rows"], told(db, "b1")["arms"]["rows"]
    assert [a["why"] for a in predicted] == [
        "l2 at 23 % of peak",
        "",
        "",
        "sm at 90 % of peak: masked",
        "exhausted: nothing left to propose",
    ]
    assert seen[0]["why"].endswith("forecast +0.53")
    assert [a["state"] for a in seen] == ["open", "open", "open", "masked", "exhausted"]
    assert [a["mean_reward"] for a in seen] == [0.5] * 5


# ------------------------------------------------------------ figures of the final


def test_each_case_of_a_final_has_both_times_with_their_intervals(tmp_path: Path) -> None:
    report = told(database(tmp_path, verdict(measured(TIMES))))
    (v,) = report["variants"]
    figures = v["figures"]
    assert (figures["processes"], figures["pairs"]) == (5, 15)
    large = next(c for c in figures["cases"] if c["case"] == LARGE)
    assert large["name"] == "M=4096"
    assert (round(large["device"]["original_us"]), round(large["call"]["variant_us"])) == (65, 112)
    assert large["device"]["ratio"]["low"] < large["device"]["ratio"]["value"] < large["device"]["ratio"]["high"]
    assert (large["device"]["method"], large["call"]["method"]) == ("events", "wall")
    assert [w["quantity"] for w in figures["wholes"]] == ["device", "call"]
    assert "M=4096: 12 % slower" in figures["sentences"][0]
    assert 7.77 not in [x for _, x in flat({**report, "course": []})], "screening is a figure in the course only, and named there"


def test_what_computes_something_else_has_no_figure(tmp_path: Path) -> None:
    report = told(database(tmp_path, verdict(measured(TIMES), correctness="wrong", reason="3 of 8 elements are wrong.")))
    (v,) = report["variants"]
    assert (v["ratio"], v["figures"]) == (None, None)
    assert (v["state"], report["counts"]["verified"]) == ("not verified", 0)
    assert "3 of 8 elements are wrong" in v["reason"]
    assert all(p["device_us"] is None for p in report["roofline"]["points"])


# ------------------------------------------------------------ runs that aren't over, or were cut off


def test_a_run_that_was_cut_off(world: World) -> None:
    ended = interrupted(world, "trial_ended", 4)
    report = told(world.db, ended.run)
    assert report["run"]["state"] == "interrupted"
    assert len(report["course"]) == 4
    assert report["arms"]["rows"], "who stops a run in order gets its arms"


def test_a_run_that_has_just_begun_has_reasons_in_place_of_tables(tmp_path: Path) -> None:
    db = tmp_path / "h.db"
    with Store.write(db) as store:
        runs.begin(store, run_row("a1b2", device="NVIDIA H100 SXM"), {})
    report = told(db)
    assert (report["run"]["state"], report["run"]["ended_s"], report["variants"], report["course"]) == ("running", None, [], [])
    assert report["arms"]["rows"] == []
    assert "goes on" in report["arms"]["reason"]
    assert report["counts"]["proposed"] is None
    assert report["roofline"]["device"]["dram_bytes_per_s"] > 1e12
    assert report["roofline"]["points"] == []
    assert report["roofline"]["reason"]


def test_what_a_live_run_has_said_counts_until_it_writes_it_down(tmp_path: Path) -> None:
    with Store.write(tmp_path / "h.db") as store:
        runs.begin(store, run_row("a1"), {})
        rows = trials.Rows(
            variants=(evolve(variant_row("a1"), patch=[]),), trials=(trial_row("a1"),), pulls=(_free("a1", 0, "compile_error"),)
        )
        trials.write(store, rows)
        live = run_report(store, runs.find(store, "a1"), {"proposed": 9, "compiled": 6, "failed": 2, "duplicates": 1, "executed": 1})
        silent = run_report(store, runs.find(store, "a1"))
    assert (live.counts.proposed, live.counts.compiled, live.counts.compile_errors, live.counts.duplicates) == (9, 6, 2, 1)
    assert (silent.counts.proposed, silent.counts.compile_errors, silent.counts.executed) == (None, 1, 1)


def _free(run: str, position: int, outcome: str) -> PullRow:
    return PullRow(run, position, position, 0, "tiling", "blocks", "key", None, False, 0.0, 0.0, outcome, 0, 1.0, "because")


def test_an_unknown_device_has_no_roofline_and_a_reason(tmp_path: Path) -> None:
    db = tmp_path / "h.db"
    with Store.write(db) as store:
        runs.begin(store, run_row("a1", device="NVIDIA GeForce Unheard"), {})
    roofline = told(db)["roofline"]
    assert "NVIDIA GeForce Unheard" in roofline.pop("reason")
    assert roofline == {"device": None, "case": None, "case_name": "", "points": []}


def test_the_time_in_which_a_run_was_stopped_is_left_out(tmp_path: Path) -> None:
    begin, day = 1000.0, 86400.0
    row = run_row("a1", created=begin + 3, heartbeat=begin + 40 + day, seconds_used=40.0, clock={"start": 3.0}, state="finished")
    ends = [(begin + 10, 5.0), (begin + 16, 2.0), (begin + day + 30, 5.0)]
    tried = [evolve(trial_row("a1", n), started=at, seconds=took) for n, (at, took) in enumerate(ends, 1)]
    with Store.write(tmp_path / "h.db") as store:
        runs.begin(store, row, {})
        trials.write(store, trials.Rows(variants=tuple(variant_row("a1", n) for n in (1, 2, 3)), trials=tuple(tried)))
        steps = course(read(store, runs.find(store, "a1")))
    assert [s.seconds_s for s in steps] == [15.0, 18.0, 35.0]


def test_a_resumed_search_is_one_course(world: World) -> None:
    first = interrupted(world, "trial_ended", 3)
    with world.store() as store, store.transaction() as db:  # as if it had stood still for an hour
        db.execute("UPDATE runs SET created = created - 3600, heartbeat = heartbeat - 3600")
        db.execute("UPDATE trials SET started = started - 3600")
    world.run(options_of(world.db, first.run), resume=first.run)
    report = told(world.db, first.run)
    assert len(report["course"]) > 3
    assert report["course"][-1]["seconds_s"] < 3600


def test_a_model_that_wrote_variants_has_its_price(tmp_path: Path) -> None:
    spent = {"calls": 3, "read": 5000, "written": 700, "dollars": 0.02, "text": "m: 3 calls"}
    row = run_row("a1", state="finished", summary={"model": spent}, options={"author": "both", "model": {"name": "m"}})
    with Store.write(tmp_path / "h.db") as store:
        runs.begin(store, row, {})
    run = told(tmp_path / "h.db")["run"]
    assert run["author"] == "both"
    assert run["cost"]["model"] == {"name": "m", "calls": 3, "tokens_read": 5000, "tokens_written": 700, "dollars": 0.02}


def test_a_long_run_is_told_in_part(tmp_path: Path) -> None:
    text, count = "x = 1\n", 1100
    with Store.write(tmp_path / "h.db") as store:
        runs.begin(store, run_row("a1", path=str(tmp_path / "k.py"), state="finished"), {str(tmp_path / "k.py"): text})
        rows = trials.Rows(
            variants=tuple(evolve(variant_row("a1", n), patch=[]) for n in range(1, count + 1)),
            trials=tuple(trial_row("a1", n) for n in range(1, count + 1)),
        )
        trials.write(store, rows)
        report = run_report(store, runs.find(store, "a1"))
    assert (len(report.course), len(report.variants), report.left_out) == (count, 1000, count - 1000)
    assert [v.patch is not None for v in report.variants] == [True] * MOST_TOLD + [False] * (1000 - MOST_TOLD)


def test_every_field_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "report.md").read_text(encoding="utf-8")
    said = set(re.findall(r"\w+", text))
    missing = [f"{kind.__name__}.{a.name}" for kind in _kinds(RunReport) for a in attrs.fields(kind) if a.name not in said]
    assert missing == []
    states = {word for state in get_args(State) for word in state.split()}
    assert states <= said


def _kinds(kind: type[Any]) -> set[type[Any]]:
    """The class and all that its fields hold."""
    hints = get_type_hints(kind)
    inner = {x for name in hints for x in _named(hints[name]) if attrs.has(x)}
    return {kind, *(k for x in inner for k in _kinds(x))}


def _named(hint: Any) -> list[type[Any]]:
    return [hint] if isinstance(hint, type) and not get_args(hint) else [x for a in get_args(hint) for x in _named(a)]

"""Replay: what a run on a landscape does, what it may not know, and what comes out for known policies."""

from __future__ import annotations

import importlib.util
import sys
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from baselines import opponent
from recorded import Landscape, load, save
from replay import Replay, curves

from kernelband.search._base import ARMS, Member
from kernelband.search.policies import NAMES, make_policy
from kernelband.search.policies.mends import MENDS, WITHOUT

from . import synthetic

ROOT = Path(__file__).resolve().parents[3]
ALL = (*NAMES, *(WITHOUT + m for m in MENDS), "round-robin", "greedy-0.5", "kernelband-lean", "paper-unprofiled", "kernelband-unprofiled")


@pytest.fixture(scope="module")
def landscape(tmp_path_factory: pytest.TempPathFactory) -> Landscape:
    return synthetic.landscape(tmp_path_factory.mktemp("landscape"))


def small(folder: Path, *nodes: dict[str, Any]) -> Landscape:
    value = synthetic.document(width=0)
    whole = {"parent": 0, "strategy": "tiling", "move": "m", "features": [0.1, 32, 0, 7, 50], "headroom": {}}
    for i, node in enumerate(nodes, 1):
        value["nodes"].append({**whole, "id": i, "rank": i, "key": f"k{i}", "identity": f"i{i}", "outcome": "faster", **node})
    save(folder / "s.json.gz", value)
    return load(folder / "s.json.gz")


@pytest.mark.parametrize("name", ALL)
def test_every_policy_runs_to_its_trials_and_its_best_never_exceeds_the_landscape(landscape: Landscape, name: str) -> None:
    run = Replay(landscape, opponent(name), seed=3)
    curve = run.run()
    assert len(curve) == 20
    assert all(x <= landscape.best() + 1e-9 for x in curve)
    executed = [p for p in run.log if p.executed]
    paid = [p for p in run.log if p.outcome != "nothing_left"] if run.policy.failures_cost else executed
    assert len(paid) == 20
    variants = [p.variant for p in executed]
    assert len(variants) == len(set(variants))  # no program is executed twice
    assert {p.parent for p in run.log} <= {0, *variants}


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_run(landscape: Landscape, name: str) -> None:
    first, second = (Replay(landscape, make_policy(name), seed=5) for _ in range(2))
    assert first.run() == second.run()
    assert first.log == second.log
    other = Replay(landscape, make_policy(name), seed=6)
    other.run()
    assert [p.reward for p in other.log] != [p.reward for p in first.log]


def test_a_batch_goes_by_forecast_and_one_by_one_goes_as_written(tmp_path: Path) -> None:
    found = small(
        tmp_path,
        {"cases": synthetic.logs(0.2), "forecast": {"score": 1.0}},
        {"cases": synthetic.logs(0.3), "forecast": {"score": 2.0}},
    )
    for name, first in (("greedy", 2), ("kernelband", 2), ("paper", 1), ("random", 1)):
        run = Replay(found, make_policy(name), seed=0, trials=1)
        run.run()
        assert next(p.variant for p in run.log if p.executed) == first, name


def test_failures_to_compile_and_known_programs_cost_only_who_pays_for_them(tmp_path: Path) -> None:
    found = small(
        tmp_path,
        {"outcome": "compile_error", "identity": ""},
        {"outcome": "duplicate", "same_as": 0},
        {"cases": synthetic.logs(0.5), "forecast": {"score": 1.5}},
    )
    assert [round(exp(x), 2) for x in curves(found, make_policy("kernelband"), [0], 3)[0]] == [1.65, 1.65, 1.65]
    assert [round(exp(x), 2) for x in curves(found, make_policy("paper"), [0], 3)[0]] == [1.0, 1.0, 1.65]


def test_what_is_not_surely_faster_is_not_returned(tmp_path: Path) -> None:
    found = small(tmp_path, {"cases": synthetic.logs(0.05, reach=0.2), "outcome": "inconclusive"}, {"cases": synthetic.logs(-0.5)})
    assert set(curves(found, make_policy("greedy"), [1], 2)[0]) == {0.0}


def test_what_lost_call_time_stays_inconclusive(tmp_path: Path) -> None:
    found = small(tmp_path, {"cases": synthetic.logs(0.5), "outcome": "inconclusive"})
    assert curves(found, make_policy("greedy"), [1], 1)[0] == (0.0,)


def test_noise_is_as_wide_as_recorded(tmp_path: Path) -> None:
    found = small(tmp_path, {"cases": synthetic.logs(0.5, reach=0.1)})
    drawn = []
    for seed in range(300):
        run = Replay(found, make_policy("greedy"), seed, trials=1)
        run.run()
        drawn += [p.reward * log(2) for p in run.log if p.executed]  # of a first gain below 2x: the observed log-ratio, to base 2
    mean = fmean(drawn)
    assert len(drawn) == 300
    spread = (fmean((x - mean) ** 2 for x in drawn)) ** 0.5
    assert mean == pytest.approx(0.5, abs=0.01)
    assert spread == pytest.approx(0.1 / 1.96 / 2**0.5, rel=0.15)  # of the mean of two cases


def test_a_wrong_variant_costs_a_trial_and_is_no_parent(tmp_path: Path) -> None:
    found = small(tmp_path, {"outcome": "wrong", "forecast": {"score": 9.0}}, {"cases": synthetic.logs(0.4), "forecast": {"score": 1.1}})
    run = Replay(found, make_policy("kernelband"), seed=0, trials=2)
    assert [round(exp(x), 2) for x in run.run()] == [1.0, 1.49]
    assert [p.outcome for p in run.log if p.executed] == ["wrong", "faster"]


def test_kernelband_beats_random_where_forecasts_half_know_the_truth(landscape: Landscape) -> None:
    ours, theirs = (fmean(c[-1] for c in curves(landscape, make_policy(name), range(20))) for name in ("kernelband", "random"))
    assert ours > theirs
    assert ours > log(1.1)


def test_round_robin_takes_strategies_in_turns(landscape: Landscape) -> None:
    run = Replay(landscape, opponent("round-robin"), seed=0, trials=12)
    run.run()
    executed = [p.strategy for p in run.log if p.executed]
    assert sorted(executed[:6]) == sorted(a.name for a in ARMS)
    assert executed[6:] == executed[:6]


def test_who_is_told_no_headroom_masks_nothing() -> None:
    full = Member(0, 1e-4, (0.1, 32.0, 0.0, 7.0, 50.0), headroom={"sm": 0.9, "dram": 0.01, "l2": 0.9})
    weights = {
        name: {a.target: w.weight for a, w in zip(ARMS, opponent(name).arms((full,), (), 0), strict=True)}
        for name in ("paper", "paper-unprofiled")
    }
    assert weights["paper"]["dram"] == 0.0
    assert set(weights["paper-unprofiled"].values()) == {1.0}


def test_a_tuned_greedy_is_chosen_on_the_other_landscapes(module: Any) -> None:
    ends = dict.fromkeys(module.believers(), 0.1)
    by_name = {name: [[(value,)], [(value,)], [(value,)]] for name, value in ends.items()}
    by_name["greedy-1"] = [[(9.0,)], [(0.0,)], [(0.0,)]]  # the best by far, on the first alone
    by_name["greedy-0.5"] = [[(0.2,)], [(0.2,)], [(0.2,)]]
    assert [c[0][-1] for c in module.tuned(by_name)] == [0.2, 0.0, 0.0]


def test_an_interval_is_over_landscapes_and_not_over_seeds(module: Any) -> None:
    assert module.bounds([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5)
    centre, low, high = module.bounds([0.0, 0.0, 0.0, 0.0, 0.0, 0.6])
    assert (centre, low) == (pytest.approx(0.1), 0.0)
    assert 0.2 <= high <= 0.4


class Serial:
    """Stands for a pool of processes: does the jobs here, one after the other."""

    def __init__(self, size: int | None) -> None:
        pass

    def __enter__(self) -> Serial:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, call: Any, jobs: Any, chunksize: int) -> Any:
        return map(call, jobs)


@pytest.fixture
def module() -> Any:
    """benchmarks/policies.py."""
    found = importlib.util.spec_from_file_location("policies", ROOT / "benchmarks" / "policies.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def policies(module: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """It called as a program."""
    monkeypatch.setattr(module, "ProcessPoolExecutor", Serial)

    def run(*arguments: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["policies.py", *arguments])
        return module.main()

    return run


def test_the_table_from_the_command_line(tmp_path: Path, policies: Any, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for seed in (0, 1):
        files.append(tmp_path / f"s{seed}.json.gz")
        save(files[-1], synthetic.document(seed=seed))
    given = [*map(str, files), "--seeds", "3", "--policies", "kernelband,random"]
    assert policies(*given, "--each") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| kernelband |")]
    assert len(rows) == 2
    assert "(" in rows[0]
    assert policies(*given[:-1], "kernelband,greedy-tuned,paper-unprofiled") == 0
    assert "| greedy-tuned |" in capsys.readouterr().out
    value = synthetic.document()
    save(files[0], {**value, "measured": False})
    with pytest.raises(SystemExit, match="without --dry"):
        policies(*given)

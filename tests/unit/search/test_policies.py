"""What every policy owes, and what each one is."""

from __future__ import annotations

from collections import Counter
from math import exp, log, sqrt

import pytest
from attrs import evolve

from kernelband.errors import UsageError
from kernelband.search._base import ARMS, Member, Policy, Pull
from kernelband.search.clusters import replay
from kernelband.search.policies import NAMES, make_policy
from kernelband.search.policies.kernelband import FLOOR, KernelBand, surprises, weight
from kernelband.search.policies.mends import MENDS, WITHOUT, Mends
from kernelband.search.policies.paper import pick_parent
from kernelband.search.policies.paper_v1 import behaviour, grown, sigmoid, trained

from .simulation import NAMES as STRATEGIES
from .simulation import simulate

FEATURES = (0.1, 32.0, 0.0, 7.0, 50.0)
ORIGINAL = Member(0, 1.0, FEATURES)
ONE_GOOD = dict.fromkeys(STRATEGIES, 0.05) | {"pipeline": 0.8}


def pull(step: int, strategy: str, reward: float = 0.0, **more: object) -> Pull:
    base = Pull(step, 0, strategy, None, executed=True, reward_paper=reward, reward=reward, outcome="faster" if reward else "slower")
    return evolve(base, **more)


@pytest.fixture(params=[*NAMES, *(WITHOUT + m for m in MENDS)])
def policy(request: pytest.FixtureRequest) -> Policy:
    return make_policy(request.param)


# ------------------------------------------------------------------ conformance


def test_knows_its_name(policy: Policy) -> None:
    assert policy == make_policy(policy.name)
    assert policy.proposals >= 1


def test_same_arguments_same_answer(policy: Policy) -> None:
    _, pulls, frontier = simulate(policy, ONE_GOOD, seed=3, trials=14)
    fresh = make_policy(policy.name)
    for seed in (0, 3):
        assert policy.ask(14, frontier, pulls, seed) == fresh.ask(14, frontier, pulls, seed)
        assert policy.arms(frontier, pulls, seed) == fresh.arms(frontier, pulls, seed)


def test_a_resumed_run_asks_what_the_unbroken_one_asked(policy: Policy) -> None:
    _, pulls, frontier = simulate(policy, ONE_GOOD, seed=5, trials=16)
    for step in (1, 7, 15):
        before = tuple(p for p in pulls if p.step < step)
        known = {0, *(p.variant for p in before)}
        choice = policy.ask(step, tuple(m for m in frontier if m.variant in known), before, 5)
        assert choice is not None
        assert (choice.parent, choice.strategy) == (pulls[step].parent, pulls[step].strategy)


def test_a_choice_is_a_member_and_an_arm_with_a_probability(policy: Policy) -> None:
    _, pulls, frontier = simulate(policy, ONE_GOOD, seed=1, trials=12)
    for step in range(12, 40):
        choice = policy.ask(step, frontier, pulls, 9)
        assert choice is not None
        assert choice.parent in {m.variant for m in frontier}
        assert choice.strategy in STRATEGIES
        assert 0 < choice.propensity <= 1
        assert choice.reason


def test_an_exhausted_arm_is_never_pulled(policy: Policy) -> None:
    left = Member(0, 1.0, FEATURES, exhausted=frozenset(STRATEGIES) - {"fusion"})
    for step in range(20):
        choice = policy.ask(step, (left,), (), 0)
        assert choice is not None
        assert choice.strategy == "fusion"
    table = {a.strategy: a for a in policy.arms((left,), (), 0)}
    assert table["tiling"].weight == 0
    assert "exhausted" in table["tiling"].why


def test_a_parent_that_is_exhausted_is_not_chosen(policy: Policy) -> None:
    done = Member(0, 1.0, FEATURES, exhausted=frozenset(STRATEGIES))
    open_ = Member(1, 5.0, FEATURES)
    log_ = (pull(0, "tiling", variant=1),)
    for step in range(1, 20):
        choice = policy.ask(step, (done, open_), log_, 0)
        assert choice is not None
        assert choice.parent == 1


def test_nothing_left_anywhere_is_none(policy: Policy) -> None:
    assert policy.ask(0, (Member(0, 1.0, FEATURES, exhausted=frozenset(STRATEGIES)),), (), 0) is None


def test_saturated_everywhere_still_leaves_an_arm(policy: Policy) -> None:
    full = Member(0, 1.0, FEATURES, headroom={"sm": 0.01, "dram": 0.0, "l2": 0.02})
    assert policy.ask(0, (full,), (), 0) is not None


def test_two_copies_of_one_point_make_no_trouble(policy: Policy) -> None:
    frontier = tuple(Member(i, 1.0, FEATURES) for i in range(8))
    log_ = tuple(pull(i, "tiling", variant=i + 1) for i in range(7))
    assert policy.ask(8, frontier, log_, 0) is not None


def test_no_such_policy() -> None:
    with pytest.raises(UsageError, match=r"no policy 'best'.*paper"):
        make_policy("best")


# ------------------------------------------------------------------ paper


def test_paper_starts_at_the_lowest_index() -> None:
    choice = make_policy("paper").ask(0, (ORIGINAL,), (), 0)
    assert choice is not None
    assert (choice.strategy, choice.score) == ("tiling", 0.5)


def test_paper_scores_by_the_published_formula() -> None:
    log_ = (pull(0, "tiling", 0.2), pull(1, "vectorization"), pull(2, "fusion", executed=False, outcome="compile_error"))
    choice = make_policy("paper").ask(3, (ORIGINAL,), log_, 0)
    assert choice is not None
    assert choice.strategy == "pipeline"  # unpulled: 0.5 + 2 sqrt(ln 3)
    assert choice.score == pytest.approx(0.5 + 2 * sqrt(log(3)))
    rows = {a.strategy: a for a in make_policy("paper").arms((ORIGINAL,), log_, 0)}
    assert rows["tiling"].mean_reward == pytest.approx(0.5 + (0.2 - 0.5) / 2)
    assert rows["fusion"].pulls == 1  # a failure costs


def test_paper_masks_the_strategies_of_a_saturated_resource() -> None:
    member = Member(0, 1.0, FEATURES, headroom={"sm": 0.5, "dram": 0.2, "l2": 0.5})
    weights = {a.strategy: a.weight for a in make_policy("paper").arms((member,), (), 0)}
    assert weights == {"tiling": 1, "vectorization": 0, "fusion": 0, "pipeline": 1, "reordering": 1, "access_layout": 0}


def test_paper_parent_is_a_softmax_in_percent_points() -> None:
    import numpy as np

    a, b = (Member(i, 1.0, FEATURES, headroom={"sm": room}) for i, room in ((1, 0.50), (2, 0.51)))
    spec = next(x for x in ARMS if x.name == "pipeline")
    drawn = Counter(pick_parent([a, b], spec, np.random.default_rng([0, i]))[0].variant for i in range(2000))
    assert drawn[2] / 2000 == pytest.approx(1 / (1 + exp(-1)), abs=0.03)


# ------------------------------------------------------------------ kernelband


def test_kernelband_leaves_free_failures_out_of_the_counts() -> None:
    free = tuple(pull(0, "tiling", executed=False, outcome="compile_error") for _ in range(8))
    rows = {a.strategy: a for a in make_policy("kernelband").arms((ORIGINAL,), free, 0)}
    assert rows["tiling"].pulls == 0
    assert rows["tiling"].mean_reward < rows["fusion"].mean_reward  # but less is expected


def test_kernelband_weighs_rate_but_not_demand() -> None:
    full = {"sm": 0.0, "dram": 0.0, "l2": 0.0}
    weights = {a.name: weight(a, full)[0] for a in ARMS}
    assert weights["vectorization"] == pytest.approx(FLOOR)
    assert weights["fusion"] == 1.0


def test_kernelband_prefers_fast_parents() -> None:
    fast, slow = Member(0, 1.0, FEATURES), Member(1, 3.0, FEATURES)
    log_ = (pull(0, "tiling", variant=1),)
    parents = Counter(make_policy("kernelband").ask(i, (fast, slow), log_, 1).parent for i in range(1, 200))  # pyright: ignore
    assert parents[0] > 190


def test_an_arm_starts_from_the_forecast_of_its_best_compiled_proposal() -> None:
    seen = Member(0, 1.0, FEATURES, forecasts={"tiling": 1.0, "fusion": 2.0, "pipeline": 0.5})
    choice = make_policy("kernelband").ask(0, (seen,), (), 0)
    assert choice is not None
    assert choice.strategy == "fusion"
    rows = {a.strategy: a for a in make_policy("kernelband").arms((seen,), (), 0)}
    assert rows["fusion"].mean_reward == pytest.approx(0.5)  # half of log2(2)
    assert rows["pipeline"].mean_reward == pytest.approx(-0.5)
    assert "forecast" in rows["fusion"].why
    blind = {a.strategy: a for a in make_policy("kernelband-without-forecast").arms((seen,), (), 0)}
    assert blind["fusion"].mean_reward == blind["pipeline"].mean_reward


def test_a_forecast_for_a_slow_parent_promises_less() -> None:
    fast = Member(0, 1.0, FEATURES, forecasts=dict.fromkeys(STRATEGIES, 1.5))
    slow = Member(1, 2.0, FEATURES, forecast=0.5, forecasts=dict.fromkeys(STRATEGIES, 0.75))  # as much better than itself
    log_ = (pull(0, "tiling", variant=1),)
    parents = {make_policy("kernelband").ask(i, (fast, slow), log_, 1).parent for i in range(1, 30)}  # pyright: ignore
    assert parents == {0}


def test_a_disappointing_arm_is_left_for_one_that_pays() -> None:
    seen = Member(0, 1.0, FEATURES, forecasts={"tiling": 1.6, "pipeline": 1.5} | dict.fromkeys(("vectorization", "fusion"), 0.9))
    log_ = tuple(pull(i, "tiling", variant=None) for i in range(3))
    choice = make_policy("kernelband").ask(3, (seen,), log_, 0)
    assert choice is not None
    assert choice.strategy == "pipeline"


@pytest.mark.parametrize("name", MENDS)
def test_each_mend_has_a_switch(name: str) -> None:
    policy_ = make_policy(WITHOUT + name)
    assert isinstance(policy_, KernelBand)
    assert policy_.name == WITHOUT + name
    off = [m for m in MENDS if not getattr(policy_.mends, m.replace("-", "_"))]
    assert off == [name]


def test_no_such_mend() -> None:
    with pytest.raises(UsageError, match=r"no part 'luck'.*forecast"):
        make_policy(WITHOUT + "luck")


def test_a_mend_switched_off_is_as_published() -> None:
    full = Member(0, 1.0, FEATURES, headroom={"sm": 0.5, "dram": 0.1, "l2": 0.5})
    masked = {a.strategy for a in KernelBand(Mends(soft_mask=False)).arms((full,), (), 0) if a.weight == 0}
    assert masked == {a.strategy for a in make_policy("paper").arms((full,), (), 0) if a.weight == 0} != set()
    assert (KernelBand(Mends(batch=False)).proposals, KernelBand(Mends(batch=False)).failures_cost) == (1, True)


# ------------------------------------------------------------------ greedy


def test_greedy_takes_what_the_forecast_likes_most_of_all_parents() -> None:
    original = Member(0, 1.0, FEATURES, forecasts={"tiling": 1.9})
    child = Member(1, 0.5, FEATURES, forecast=1.6, forecasts={"fusion": 1.8, "tiling": 1.5})
    choice = make_policy("greedy").ask(1, (original, child), (), 0)
    assert choice is not None
    assert (choice.parent, choice.strategy) == (1, "fusion")  # 2 x 1.8 / 1.6 of the original, before 1.9
    assert choice.score == pytest.approx(log(1.8 / 1.6, 2))


def test_greedy_looks_where_nothing_is_known_before_it_takes_a_loss() -> None:
    seen = Member(0, 1.0, FEATURES, forecasts=dict.fromkeys(STRATEGIES[:-1], 0.8))
    choice = make_policy("greedy").ask(0, (seen,), (), 0)
    assert choice is not None
    assert choice.strategy == STRATEGIES[-1]


# ------------------------------------------------------------------ paper-v1


def test_v1_goes_round_the_strategies_first() -> None:
    log_: tuple[Pull, ...] = ()
    for step in range(18):
        choice = make_policy("paper-v1").ask(step, (ORIGINAL,), log_, 0)
        assert choice is not None
        log_ = (*log_, pull(step, choice.strategy))
    assert Counter(p.strategy for p in log_) == dict.fromkeys(STRATEGIES, 3)


def test_v1_rewards_are_signed_and_a_failure_is_minus_one() -> None:
    slower, faster = Member(1, 1.5, FEATURES), Member(2, 0.8, FEATURES)
    log_ = (pull(0, "tiling", variant=1), pull(1, "fusion", variant=2), pull(2, "pipeline", executed=False, outcome="compile_error"))
    rows = {a.strategy: a for a in make_policy("paper-v1").arms((ORIGINAL, slower, faster), log_, 0)}
    assert rows["tiling"].mean_reward == pytest.approx(-0.5)
    assert rows["fusion"].mean_reward == pytest.approx(0.2)
    assert rows["pipeline"].mean_reward == -1


def test_v1_scores_by_the_published_formula() -> None:
    log_ = tuple(pull(i, STRATEGIES[i % 6], variant=None) for i in range(18))
    choice = make_policy("paper-v1").ask(18, (ORIGINAL,), log_, 0)
    assert choice is not None
    psi = trained([(behaviour(ORIGINAL), False)] * 3)
    value = -1 + sqrt(2 * log(18) / 3) + 0.5 * sigmoid(float(psi @ [*behaviour(ORIGINAL), 1.0]))
    assert choice.score == pytest.approx(value)


def test_v1_learns_where_a_strategy_pays() -> None:
    paying = Member(0, 1.0, (0.1, 32, 0, 7, 90.0), {"sm": 0.9, "dram": 0.9, "l2": 0.9})
    not_ = Member(1, 1.0, (0.1, 200, 200, 10, 10.0), {"sm": 0.1, "dram": 0.1, "l2": 0.1})
    seen = [(behaviour(paying), True), (behaviour(not_), False)] * 20
    weights = trained(seen)
    chance = {m.variant: sigmoid(float(weights @ [*behaviour(m), 1.0])) for m in (paying, not_)}
    assert chance[0] > 0.8
    assert chance[1] < 0.2


def test_v1_grows_its_clusters_without_forgetting_labels() -> None:
    left = [Member(i, 1.0, (0.1, 32.0 + i, 0.0, 7.0, 50.0)) for i in range(4)]
    right = [Member(4 + i, 1.0, (0.9, 200.0 + i, 90.0, 9.0, 20.0)) for i in range(4)]
    frontier = [left[0], right[0], left[1], right[1], left[2], right[2]]
    labels = grown(frontier)
    assert labels[left[0].variant] != labels[right[0].variant]
    more = grown([*frontier, left[3], right[3]])
    assert more[left[3].variant] in {more[m.variant] for m in left[:3]}
    assert more[right[3].variant] in {more[m.variant] for m in right[:3]}


# ------------------------------------------------------------------ known arms


def share(name: str, arm: str, seeds: range) -> float:
    pulls = [p.strategy for s in seeds for p in simulate(make_policy(name), ONE_GOOD, s)[1]]
    return pulls.count(arm) / len(pulls)


def test_kernelband_finds_the_good_arm_more_often_than_paper() -> None:
    seeds = range(12)
    ours, published = share("kernelband", "pipeline", seeds), share("paper", "pipeline", seeds)
    assert ours > 0.22  # six arms: uniform is 0.17
    assert published < ours


def test_kernelband_gains_more_than_random() -> None:
    from statistics import fmean

    gain = {name: fmean(log(simulate(make_policy(name), ONE_GOOD, s)[0]) for s in range(12)) for name in NAMES}
    assert gain["kernelband"] > gain["random"] * 1.2


def test_the_arms_are_the_strategies_with_their_targets() -> None:
    from kernelband.strategies import STRATEGIES

    assert [(a.name, a.target) for a in ARMS] == [(s.card.name, s.card.target) for s in STRATEGIES]


def test_what_forecasts_of_a_strategy_were_worth_corrects_the_next() -> None:
    """Promised log2(1.6) / 2 = 0.34 each, given nothing: two pulls as promised are added."""
    children = tuple(Member(i, 1.0, FEATURES, forecast=1.6) for i in (1, 2))
    log_ = tuple(pull(i, "tiling", variant=i + 1) for i in range(2))
    found = surprises((ORIGINAL, *children), log_)
    assert found == {"tiling": pytest.approx(-log(1.6, 2) / 2 * 2 / 4)}
    wrong = surprises((ORIGINAL,), (pull(0, "fusion", variant=9, outcome="wrong"),))
    assert wrong["fusion"] < 0
    assert surprises((ORIGINAL,), (pull(0, "fusion", variant=9, outcome="pending"),)) == {}


def test_a_strategy_that_is_empty_elsewhere_weighs_less_where_nothing_is_known() -> None:
    original = Member(0, 1.0, FEATURES, exhausted=frozenset({"fusion"}))
    child = Member(1, 0.9, FEATURES)
    log_ = (pull(0, "tiling", variant=1, move="blocks"),)
    rows = {a.strategy: a for a in make_policy("kernelband").arms((original, child), log_, 0)}
    assert rows["fusion"].weight == pytest.approx(0.5)
    assert "nothing to propose for other parents" in rows["fusion"].why
    assert rows["tiling"].weight == 1


def test_duplicates_hurry_the_clock_where_they_are_paid_for() -> None:
    """What is far from its parent is told apart at the next clustering: ten paid pulls after the one before."""
    features = [(0.1 * i, 32.0, 0.0, 7.0, 50.0) for i in range(6)] + [(90.0, 250.0, 90.0, 10.0, 5.0)]
    frontier = [Member(i, 1e-4, f) for i, f in enumerate(features)]
    made = [Pull(i - 1, 0, "tiling", variant=i, executed=True, outcome="faster") for i in range(1, 7)]
    log = [*made, *(Pull(6 + i, 0, "tiling", outcome="duplicate") for i in range(10))]
    apart = {paid: (found := replay(frontier, log, duplicates=paid)).labels[6] != found.labels[0] for paid in (False, True)}
    assert apart == {False: False, True: True}


def test_without_clusters_and_without_exploration() -> None:
    """All variants are one cluster, and what an arm is worth is what is expected of it, however seldom it was pulled."""
    _, pulls, frontier = simulate(KernelBand(), ONE_GOOD, seed=3, trials=14)
    for name, one in (("kernelband", False), ("kernelband-without-clusters", True)):
        assert ({a.cluster for a in make_policy(name).arms(frontier, pulls, 3)} == {0}) == one
    for name, bare in (("kernelband", False), ("kernelband-without-exploration", True)):
        policy_ = make_policy(name)
        choice = policy_.ask(14, frontier, pulls, 3)
        arms = [a for a in policy_.arms(frontier, pulls, 3) if a.weight > 0]
        worth = max(a.mean_reward * a.weight if a.mean_reward > 0 else a.mean_reward / a.weight for a in arms)
        assert choice is not None
        assert (choice.score == pytest.approx(worth)) == bare

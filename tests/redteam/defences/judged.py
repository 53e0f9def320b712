"""What makes a result (JUDGING, section 2)."""

from __future__ import annotations

from tests.redteam.defences.row import JUDGE, WORKER, within

RESULT = (
    *within(
        f"{JUDGE}/numerics.py",
        "tests/unit/judge/test_rules.py",
        ("out of bounds is wrong", 'if check["out_of_bounds"]:', "if False:", "test_judge_check"),
        ("no case, no word", 'if not check["cases"]:', "if False:", "test_judge_check"),
        ("two runs that differ", '        if not case["deterministic"]:', "        if False:", "test_judge_check"),
        ("interpreted is not passed", 'if check["interpreted"]:', "if False:", "test_judge_check"),
    ),
    *within(
        f"{JUDGE}/identity.py",
        "tests/unit/judge/test_rules.py",
        (
            "equal asks for launches",
            "sorted((case, tuple(found)) for case, found in launches.items()), ",
            "(), ",
            "test_anything_else_is_not",
        ),
        ("equal asks for host functions", ", sorted(hosts.items())", ", ()", "test_anything_else_is_not"),
    ),
    *within(
        f"{JUDGE}/speed_of_light.py",
        "tests/unit/judge/test_rules.py",
        (
            "faster than the hardware",
            "if floor is None or variant_us >= SLACK * floor.us or original_us < SLACK * floor.us:",
            "if True:",
            "test_too_fast",
        ),
    ),
    *within(
        f"{JUDGE}/result.py",
        "tests/unit/judge/test_final.py",
        ("what wasn't exercised isn't verified", "            and not self.not_exercised\n", "", "test_not_exercised_is_never_verified"),
    ),
    *within(
        f"{JUDGE}/hidden.py",
        "tests/unit/judge/test_hidden.py",
        ("stress among timed calls", "        return left[:count]", "        return []", "test_each_is_met_once_among_timed_cases"),
        ("anywhere in a turn", "self.dice.randrange(len(mixed) + 1)", "len(mixed)", "test_they_come_at_any_place_of_a_turn"),
    ),
    *within(
        f"{JUDGE}/turns.py",
        "tests/unit/judge/test_hidden.py",
        (
            "results of the turn that was asked for",
            'if given["seed"] != params["seed"]:',
            "if False:",
            "test_a_result_of_another_turn_is_none",
        ),
        ("hidden results are compared", ' *((c["id"], c["name"]) for c in dealt)', "", "test_each_is_met_once_among_timed_cases"),
    ),
    *within(
        f"{WORKER}/cases/hidden.py",
        "tests/unit_worker/cases/test_hidden.py",
        (
            "hidden values are stressed",
            "made = replay.as_case(label)\n        except",
            "return None\n        except",
            "test_what_is_wrong_under_stress_is_wrong_among_timed_calls[softmax, no maximum]",
        ),
        (
            "hidden sizes are others",
            "isinstance(replay, Resized) and sizes",
            "False",
            "test_what_is_wrong_under_stress_is_wrong_among_timed_calls[softmax, a block written down]",
        ),
    ),
    *within(
        f"{JUDGE}/final.py",
        "tests/unit/judge/test_final.py",
        (
            "held-out cases are checked",
            'of_role("check", "time", "held_out")',
            'of_role("check", "time")',
            "test_checks_see_everything_that_there_is",
        ),
        ("all input sets are checked", "cases, sets=None, shared", "cases, sets=1, shared", "test_checks_see_everything_that_there_is"),
        (
            "finalists are stressed",
            "shared=self.together, stress=True",
            "shared=self.together, stress=False",
            "test_checks_see_everything_that_there_is",
        ),
        (
            "tuners choose alone",
            "shared=self.together and not alone",
            "shared=self.together",
            "test_tuners_choose_alone_and_that_of_the_original_last",
        ),
    ),
    *within(
        f"{JUDGE}/proofs.py",
        "tests/unit/judge/test_final.py",
        (
            "the user's own asserts",
            "            if not said.passes:\n                finalist.refused",
            "            if False:\n                finalist.refused",
            "test_a_winner_must_pass_the_users_own_entry",
        ),
    ),
    *within(
        f"{JUDGE}/final.py",
        "tests/unit/judge/test_final_faults.py",
        ("what is wrong isn't timed", '        if correctness != "passed":', "        if False:", "test_a_wrong_finalist_is_not_timed"),
    ),
)

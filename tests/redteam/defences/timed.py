"""What is timed, and whose times count (JUDGING, section 3)."""

from __future__ import annotations

from tests.redteam.defences.row import JUDGE, WORKER, within

TIMED = (
    *within(
        f"{JUDGE}/final.py",
        "tests/unit/judge/test_final.py",
        (
            "processes of their own",
            "[i for i, c in enumerate(candidates) if c.ours]",
            "[*range(len(chosen))]",
            "test_every_process_knows_one_version",
        ),
        (
            "checks apart from times",
            "room, cases = finalist.checks,",
            "room, cases = finalist.rooms[0],",
            "test_every_process_knows_one_version",
        ),
        (
            "clocks of all turns",
            "            self._believe(self.clocks.doubts())\n",
            "",
            "test_a_clock_that_is_slow_in_every_turn_is_turned_away",
        ),
    ),
    *within(
        f"{JUDGE}/turns.py",
        "tests/unit/judge/test_final.py",
        ("timed results are compared", 'if not check["ok"]:', "if False:", "test_a_timed_result_that_is_wrong_is_wrong"),
        (
            "each case has its turn",
            "[c for c in left if c != chosen]",
            "[]",
            "test_results_of_every_case_are_compared_before_one_is_twice",
        ),
        (
            "contents are new each turn",
            '"cases": cases, "seed": secrets.token_hex(16)',
            '"cases": cases, "seed": "5a" * 16',
            "test_turns_alternate_and_their_contents_are_never_the_same",
        ),
        (
            "turns alternate",
            "1 if len(self.turns) % 2 == 0 else -1",
            "1",
            "test_turns_alternate_and_their_contents_are_never_the_same",
        ),
        (
            "the supervisor's clock",
            "> LATE_S + OFF * max(supervised, claimed):",
            "> 1e9:",
            "test_a_clock_that_is_not_the_supervisors_and_work_between_calls_are_turned_away",
        ),
        (
            "threads",
            'elif result["threads"] > (usual := max(self._threads, self.threads)) and self._threads:',
            "elif False:",
            "test_a_clock_that_is_not_the_supervisors_and_work_between_calls_are_turned_away",
        ),
        (
            "a disturbed sweep is followed by another",
            "while self._clean <",
            "while len(self.turns) <",
            "test_a_disturbed_sweep_is_followed_by_another",
        ),
        (
            "nobody else measures",
            'call("turn", params, deadline, self.lock)',
            'call("turn", params, deadline)',
            "test_the_lock_is_held_whenever_the_gpu_works_and_alone_when_it_measures",
        ),
    ),
    *within(
        f"{JUDGE}/comparison.py",
        "tests/unit/judge/test_losses.py",
        (
            "no case loses",
            "            _lost_case(rules.objective, scores, margins, rows, rules)\n            or ",
            "            ",
            "test_no_case_loses",
        ),
        (
            "all calls together",
            "            or _lost_in_total(score, margin, rows, rules)\n",
            "",
            "test_small_losses_of_large_cases_may_not_add_up",
        ),
        ("no size loses", "if elsewhere is not None and elsewhere.decides", "if False", "test_no_size_loses"),
        (
            "no case loses in the other time",
            "            or _lost_case(rules.other, scores, margins, rows, rules)\n",
            "",
            "test_no_case_loses_in_the_other_time",
        ),
        ("the other time on average", "            or lost\n", "", "test_a_loss_of_the_other_time_that_only_all_cases_show"),
        ("one of many is lucky", "1 - ERROR / finalists", "1 - ERROR", "test_several_finalists_widen_every_interval"),
        (
            "an interval for one more process",
            "_score(found, q, rules, prediction)",
            "_score(found, q, rules, of_processes)",
            "test_the_shown_interval_is_for_one_more_process",
        ),
        (
            "the shown bound decides",
            "if rules.low(score.whole) <= margin.whole:",
            "if score.whole.centre <= margin.whole:",
            "test_the_shown_bound_decides",
        ),
    ),
    *within(
        f"{JUDGE}/comparison.py",
        "tests/unit/judge/test_comparison.py",
        (
            "the original against itself",
            "max(least, noise.whole.farthest(confidence))",
            "least",
            "test_what_the_original_differs_from_itself_is_no_difference",
        ),
        (
            "all timing cases are measured",
            "    if missing:\n",
            "    if False:\n",
            "test_with_a_timing_case_unmeasured_nothing_is_faster_or_slower",
        ),
        ("superseded blocks don't count", "if not m.superseded)", ")", "test_superseded_blocks_are_not_counted"),
    ),
    *within(
        f"{JUDGE}/statistics.py",
        "tests/unit/judge/test_comparison.py",
        ("two percent", "MARGIN = 0.02", "MARGIN = 0.0", "test_under_two_percent_is_inconclusive"),
    ),
    *within(
        f"{WORKER}/measure/contents.py",
        "tests/unit_worker/cases/test_turns.py",
        (
            "contents that nobody saw",
            'hashlib.sha256(f"{self.seed}/{self.k}/{storage}".encode())',
            'hashlib.sha256(b"")',
            "test_who_does_not_compute_in_timed_calls_is_wrong",
        ),
    ),
    *within(
        f"{WORKER}/measure/contents.py",
        "tests/unit_worker/measure/test_contents.py",
        (
            "windows move",
            "    bound.copy(storage, whole[start : start + size])\n",
            "    bound.copy(storage, whole[:size])\n",
            "test_a_window_at_a_secret_place",
        ),
        ("bits flip", ".bitwise_xor_(bit)", ".bitwise_xor_(0)", "test_floats_change_in_every_column_by_about_a_sixteenth"),
        ("whole numbers turn", "by % change.span) %", "0) %", "test_whole_numbers_turn_within_their_range"),
    ),
    *within(
        f"{WORKER}/measure/turn.py",
        "tests/unit_worker/cases/test_turns.py",
        ("any call may be compared", "% self.seen == 0", "% 1 == 0", "test_any_call_of_a_turn_may_be_the_one_that_is_compared"),
    ),
    *within(
        f"{WORKER}/cases/watch.py",
        "tests/unit_worker/launches/test_tuning.py",
        (
            "the original's tuner gets real times",
            "(original if timed_by_tuner() else _once)",
            "(_once)",
            "test_under_capture_only_an_autotuner_gets_times",
        ),
    ),
    *within(
        f"{WORKER}/cases/tuned.py",
        "tests/unit_worker/tuning/test_tuned.py",
        (
            "luck of a tuner's is no gain",
            'how = "all" if variant is not None else "others"',
            'how = "all" if variant is not None else "new"',
            "test_in_the_final_the_original_is_tuned_against_what_finalists_chose_of_its_own_list",
        ),
    ),
    *within(
        f"{WORKER}/measure/turn.py",
        "tests/unit_worker/cases/test_defences.py",
        (
            "nothing is tuned while it is timed",
            "    if device.tunings() != tuned:\n",
            "    if False:\n",
            "test_what_tunes_itself_anew_while_it_is_timed_is_refused",
        ),
    ),
    *within(
        f"{WORKER}/measure/turn.py",
        "tests/unit_worker/measure/test_turn.py",
        (
            "other streams",
            "us = device.elapsed_us(first, last) + tail_us",
            "us = device.elapsed_us(first, last)",
            "test_work_on_another_stream_counts",
        ),
        ("submission is hidden", "or submitted_us <= sleep_us:", "or True:", "test_a_submission_longer_than_its_sleep_is_timed_again"),
    ),
    *within(
        f"{WORKER}/measure/referee.py",
        "tests/unit_worker/cases/test_turns.py",
        (
            "values of timed results",
            "reason = check.values(expected, mine, [t for _, t in mine], hidden)\n            if",
            "if",
            "test_who_does_not_compute_in_timed_calls_is_wrong",
        ),
        (
            "kinds of timed results",
            'check.same_kind(expected, named, theirs["described"], theirs["aliases"], leaves)',
            "None",
            "test_who_does_not_compute_in_timed_calls_is_wrong[lazy]",
        ),
    ),
    *within(
        f"{WORKER}/measure/blocks.py",
        "tests/unit_worker/measure/test_contents.py",
        ("blocks at secret places", 'f"{seed}/{n}"', 'f"{n}"', "test_blocks_of_another_secret_lie_elsewhere"),
    ),
    *within(
        f"{WORKER}/measure/bound.py",
        "tests/unit_worker/cases/test_defences.py",
        (
            "a clock of our own",
            "now = time.perf_counter\n",
            "def now():\n    return time.perf_counter()\n",
            "test_a_clock_and_chance_that_a_program_replaces_are_not_the_workers[clock]",
        ),
        (
            "chance of our own",
            "urandom = os.urandom\n",
            "def urandom(n):\n    return os.urandom(n)\n",
            "test_a_clock_and_chance_that_a_program_replaces_are_not_the_workers[chance]",
        ),
        (
            "copies of our own",
            "        _copy(into, source)\n",
            "        into.copy_(source)\n",
            "test_contents_are_not_written_by_what_a_program_can_replace",
        ),
        (
            "clones of our own",
            "return _clone(_detach(tensor))",
            "return tensor.detach().clone()",
            "test_results_are_not_kept_by_what_a_program_can_replace",
        ),
        (
            "clones without modes",
            "    with _no_functions(), _no_dispatch():\n        return",
            "    with _no_dispatch():\n        return",
            "test_results_are_not_kept_by_what_a_program_can_replace",
        ),
        (
            "copies without modes",
            "    with _no_functions(), _no_dispatch():\n        _copy",
            "    with _no_dispatch():\n        _copy",
            "test_contents_are_not_written_by_what_a_program_can_replace",
        ),
    ),
    *within(
        f"{WORKER}/measure/clocks.py",
        "tests/unit_worker/measure/test_clocks.py",
        ("a GPU that is disturbed", "    for bit, name in TROUBLE.items():", "    for bit, name in ():", "test_disturbed"),
    ),
)

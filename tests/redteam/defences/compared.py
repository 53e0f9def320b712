"""What is compared, and on what (JUDGING, section 1)."""

from __future__ import annotations

from tests.redteam.defences.row import WORKER, within

COMPARED = (
    *within(
        f"{WORKER}/comparison.py",
        "tests/unit_worker/cases/test_check.py",
        ("values", "elif wrong is not None:", "elif False:", "test_bad[wrong values]"),
        ("all is written", "if bool(empty.any()):", "if False:", "test_bad[unwritten tail]"),
        ("two runs agree", "> 2 * expected.noise:", "> 1e9:", "test_bad[random]"),
        ("names of outputs", "if names != theirs:", "if False:", "test_bad[saves nothing]"),
        ("kinds of outputs", "if mine[key] != original[key]:", "if False:", "test_bad[another dtype]"),
        ("aliases", "if shared[name] != expected.aliases[name]:", "if False:", "test_bad[loses an alias]"),
    ),
    *within(
        f"{WORKER}/compare.py",
        "tests/unit_worker/cases/test_check.py",
        (
            "what no case reaches is named",
            "not_exercised(wanted, reached.places())",
            "[]",
            "test_an_edited_function_that_no_case_reaches_is_told",
        ),
    ),
    *within(
        f"{WORKER}/cases/faults.py",
        "tests/unit_worker/cases/test_check.py",
        ("inputs left alone", "    if mine.changed:\n", "    if False:\n", "test_bad[writes an input]"),
        ("the interpreter's bounds", "    if further:\n", "    if False:\n", "test_bad[one element too far]"),
        (
            "the rest of a buffer",
            "known = own.outside.get(name)",
            "known = own.outside.get(name, found)",
            "test_bad[writes beside its view]",
        ),
        ("kept buffers", "if mine.overwrites and not own.overwrites:", "if False:", "test_bad[a kept buffer]"),
    ),
    *within(
        f"{WORKER}/cases/faults.py",
        "tests/unit_worker/cases/test_faults.py",
        (
            "no further than the original",
            "return widest is not None and reach[0] <= widest[0] and reach[1] <= widest[1]",
            "return widest is not None",
            "test_more_than_the_original_does_is_wrong",
        ),
        ("nowhere else in a buffer", "bool((found.where & ~known.where).any())", "False", "test_more_than_the_original_does_is_wrong"),
        (
            "nothing else in the rest of a buffer",
            "if effects.difference(of_both, found.values) >",
            "if 0.0 >",
            "test_more_than_the_original_does_is_wrong[past, other values there]",
        ),
    ),
    *within(
        f"{WORKER}/cases/faults.py",
        "tests/unit_worker/cases/test_zones.py",
        (
            "zones around a check",
            "if not _within(reach, own.strays.get(name)):",
            "if False:",
            "test_a_kernel_that_writes_beside_its_tensors_is_wrong",
        ),
    ),
    *within(
        f"{WORKER}/comparison.py",
        "tests/unit_worker/cases/test_defences.py",
        ("errors against float64", "and not within\n", "and False\n", "test_what_the_tolerance_forgives_shows_against_float64"),
    ),
    *within(
        f"{WORKER}/comparison.py",
        "tests/unit_worker/cases/test_stress.py",
        ("mean squares of halves", "if square > most:", "if False:", "test_what_is_wrong_is_refused_by_the_stress_made_for_it"),
    ),
    *within(
        f"{WORKER}/compare.py",
        "tests/unit_worker/cases/test_stress.py",
        (
            "stress",
            'if params.get("stress") and',
            "if False and",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[softmax, no maximum]",
        ),
    ),
    *within(
        f"{WORKER}/cases/effects.py",
        "tests/unit_worker/cases/test_check.py",
        ("poison", "            fill(made, self.first)\n", "            made.zero_()\n", "test_bad[unwritten tail]"),
    ),
    *within(
        f"{WORKER}/cases/zones.py",
        "tests/unit_worker/cases/test_zones.py",
        ("a look at zones", "if before or past:", "if False:", "test_a_write_on_either_side_shows"),
        (
            "zones that differ",
            "_NAN if floats and self.first else _ZERO",
            "_ZERO",
            "test_a_kernel_whose_results_hang_on_what_lies_beside_is_wrong",
        ),
    ),
    *within(
        f"{WORKER}/cases/stress.py",
        "tests/unit_worker/cases/test_stress.py",
        (
            "other values",
            "in values.FINITE if floats else ():",
            "in ():",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[softmax, no maximum]",
        ),
        (
            "what is written under stress only",
            "if found.faults.changed:",
            "if False:",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[unscale, no flag for infinity]",
        ),
        (
            "values that aren't finite",
            "in values.NOT_FINITE if floats else ():",
            "in ():",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[softmax, no NaN]",
        ),
        (
            "constant inputs drawn",
            "    if plain:\n",
            "    if False:\n",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[layer_norm, no weights]",
        ),
        (
            "other numbers",
            "if any(type(value) is float for",
            "if False and any(type(value) is float for",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[layer_norm, eps written down]",
        ),
        ("masks flipped", "    if masks:\n", "    if False:\n", "test_what_is_wrong_is_refused_by_the_stress_made_for_it[masked, no mask]"),
        (
            "tables drawn",
            "if tables and _safe(state, replay, tables):",
            "if False:",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[gather, no table]",
        ),
        (
            "pointers None",
            "if defaults[name] is None:",
            "if False:",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[masked, the pointer always there]",
        ),
        (
            "other sizes and layouts",
            "if neighbours.changeable(replay.stored):",
            "if False:",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[softmax, a block written down]",
        ),
    ),
    *within(
        f"{WORKER}/cases/neighbours.py",
        "tests/unit_worker/cases/test_stress.py",
        (
            "offset views",
            '    made.append(("an offset view", Shift(), None))\n',
            "",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[softmax, aligned addresses only]",
        ),
        (
            "unequal sizes",
            "for label, axes in _by_chance(case)]",
            "for label, axes in ()]",
            "test_what_is_wrong_is_refused_by_the_stress_made_for_it[square_matmul, rows taken for columns]",
        ),
    ),
    *within(
        f"{WORKER}/cases/stressed.py",
        "tests/unit_worker/cases/test_defences.py",
        (
            "a second call on the same objects",
            "        super().call(variant, prepared)\n",
            "",
            "test_a_second_call_knows_nothing_of_the_first",
        ),
    ),
    *within(
        f"{WORKER}/measure/bound.py",
        "tests/unit_worker/measure/test_contents.py",
        (
            "kinds by what they are",
            "if type(tensor) is Tensor:",
            'if type(tensor).__name__ == "Tensor":',
            "test_a_subclass_is_one_whatever_it_is_called",
        ),
    ),
    *within(
        f"{WORKER}/tolerances.py",
        "tests/unit_worker/cases/test_tolerances.py",
        ("integers are exact", "if floats else a == b\n", "if floats else a == a\n", "test_integers_are_exact"),
        ("NaN and infinities", "found.odd |= bool((odd & counts).any())", "pass", "test_nan_and_infinities_count"),
    ),
)

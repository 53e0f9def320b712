"""Where a row's largest element is, kept from block to block: another block finds the same, where nothing else than the order tells."""

from __future__ import annotations

import pytest

from tests.unit.strategies.test_unsound_blocks import KEPT, WALK, filled, resized

FOUND = "new, at = tl.max(x, axis=0, return_indices=True)"
LATER = "later = new > u"
LARGEST = "u = tl.where(later, new, u)"
PLACE = "t = tl.where(later, off + at, t)"
FIRST = "at = tl.min(tl.where(x == new, cols, n), axis=0)"
ALONE = "new = tl.max(x, axis=0)"
#: A loop's body, and whether another block finds the same.
BODIES = {
    "told with it": ([FOUND, LATER, LARGEST, PLACE], True),
    "told with it, the first of equal ones": (
        [FOUND.replace("=True)", "=True, return_indices_tie_break_left=True)"), LATER, LARGEST, PLACE],
        True,
    ),
    "asked for beside it": ([ALONE, "at = tl.argmax(x, axis=0)", LATER, LARGEST, PLACE], True),
    "asked for where it is placed": ([ALONE, "at = off + tl.argmax(x, axis=0)", LATER, LARGEST, "t = tl.where(later, at, t)"], True),
    "placed, and stored for each block": (
        [ALONE, "at = off + tl.argmax(x, axis=0)", LATER, LARGEST, "t = tl.where(later, at, t)", "tl.store(part_ptr + at, 1)"],
        False,
    ),
    "placed one further": ([ALONE, "at = off + 1 + tl.argmax(x, axis=0)", LATER, LARGEST, "t = tl.where(later, at, t)"], False),
    "the first that is equal": ([ALONE, FIRST, LATER, LARGEST, "t = tl.where(later, at, t)"], True),
    "the first that is equal, by name": (
        [
            ALONE,
            "same = new == x",
            "each = tl.where(same, cols, n)",
            "at = tl.min(each, axis=0)",
            LATER,
            LARGEST,
            "t = tl.where(later, at, t)",
        ],
        True,
    ),
    "compared where it is used": ([FOUND, "t = tl.where(new > u, at + off, t)", "u = tl.where(new > u, new, u)"], True),
    "a maximum": ([FOUND, "t = tl.where(u < new, off + at, t)", "u = tl.maximum(u, new)"], True),
    "the smallest": (
        [FOUND.replace("max", "min"), "later = new < u", LARGEST, PLACE],
        True,
    ),
    "the smallest, by argmin": (["new = tl.min(x, axis=0)", "at = tl.argmin(x, axis=0)", "later = u > new", LARGEST, PLACE], True),
    "the value alone": ([ALONE, "t = tl.where(new > t, new, t)"], True),
    "the value alone, twice": ([ALONE, "t = tl.where(new > t, new * 2, t)"], False),
    "the value as a place": ([FOUND, LATER, LARGEST, "t = tl.where(later, off + new, t)"], False),
    "the least of something else": (
        [ALONE, FIRST.replace("cols, n", "-cols, n"), LATER, LARGEST, "t = tl.where(later, at, t)"],
        False,
    ),
    "where it is larger than its block's sum": (
        [FOUND, "s = tl.sum(x, axis=0)", "w = tl.maximum(s, new)", "t = tl.where(new > s, off + at, t)"],
        False,
    ),
    "of equal ones the last block's": ([FOUND, "later = new >= u", LARGEST, PLACE], False),
    "of equal ones a block's last": (
        [FOUND.replace("=True)", "=True, return_indices_tie_break_left=False)"), LATER, LARGEST, PLACE],
        False,
    ),
    "of equal ones argmax's last": ([ALONE, "at = tl.argmax(x, axis=0, tie_break_left=False)", LATER, LARGEST, PLACE], False),
    "the last that is equal": (
        [ALONE, "at = tl.max(tl.where(x == new, cols, 0), axis=0)", LATER, LARGEST, "t = tl.where(later, at, t)"],
        False,
    ),
    "the lane": ([FOUND, LATER, LARGEST, "t = tl.where(later, at, t)"], False),
    "where its block begins": ([FOUND, LATER, LARGEST, "t = tl.where(later, off, t)"], False),
    "behind it": ([FOUND, LATER, LARGEST, "t = tl.where(later, off + 1 + at, t)"], False),
    "twice as far": ([FOUND, LATER, LARGEST, "t = tl.where(later, off * 2 + at, t)"], False),
    "its value twice": ([FOUND, LATER, "u = tl.where(later, new * 2, u)", PLACE], False),
    "a smaller one": ([FOUND, "later = new < u", LARGEST, PLACE], False),
    "the smallest's place": ([ALONE, "at = tl.argmin(x, axis=0)", LATER, LARGEST, PLACE], False),
    "another's place": ([ALONE, "at = tl.argmax(x * x, axis=0)", LATER, LARGEST, PLACE], False),
    "another's place, by the same name": ([ALONE, "x = x * x", "at = tl.argmax(x, axis=0)", LATER, LARGEST, PLACE], False),
    "where another is largest": ([FOUND, "t = tl.where(new > u, off + at, t)", "u = tl.maximum(u, tl.max(x * 2, axis=0))"], False),
    "larger than a number": ([FOUND, "later = new > 1.0", LARGEST, PLACE], False),
    "the block's size where nothing is equal": (
        [ALONE, FIRST.replace(", n)", ", BLOCK)"), LATER, LARGEST, "t = tl.where(later, at, t)"],
        False,
    ),
    "places summed": ([FOUND, LATER, LARGEST, "t = t + tl.where(later, off + at, 0)"], False),
    "replaced twice": ([FOUND, LATER, LARGEST, PLACE, "t = tl.where(new > 3.0, off + at, t)"], False),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_block_changes_where_a_largest_element_and_its_place_are_kept(name, tmp_path):
    body, same = BODIES[name]
    text = WALK.replace("STEP", "\n        ".join(body)).replace("AFTER", KEPT)
    text = text.replace("    t = 0.0\n", '    t = 0\n    u = float("-inf")\n')
    assert resized(filled(text), tmp_path) == same

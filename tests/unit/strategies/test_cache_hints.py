"""``cache_hints`` says that data is read once only where the pointer shows it: by one program, by no place that was loaded.

And that results are not read again only where the kernel loads nothing from where it stores them.
"""

from __future__ import annotations

import pytest

from tests.captured_examples import NAMES
from tests.unit.strategies.access_samples import ROW_WALK, row_facts
from tests.unit.strategies.samples import again, example, example_facts, made_by, program_of
from tests.unit.strategies.test_edits import changed


def hints(program, given):
    return made_by("cache_hints", program, given)


def plans(name, tmp_path):
    program = example(name, tmp_path)
    return {p.parameters["plan"]: "\n".join(changed(program, p)) for p in hints(program, example_facts(name, program))}


@pytest.mark.parametrize(
    ("name", "once", "not_once"),
    [
        ("rope", ["x1", "x2"], ["cos", "sin"]),  # 32 heads share a position's angles
        ("rms_norm", ["X_row"], []),
        ("scan", ["x"], []),
    ],
)
def test_data_of_one_program_streams(name, once, not_once, tmp_path):
    marked = [line for line in plans(name, tmp_path)["stream"].splitlines() if line.startswith("+") and "evict_first" in line]
    assert {line[1:].split()[0] for line in marked} >= set(once)
    assert not {line[1:].split()[0] for line in marked} & set(not_once)


def test_rows_that_are_looked_up_may_be_looked_up_again(tmp_path):
    found = plans("gather", tmp_path)
    assert "stream" not in found
    assert "stores" in found


def test_past_l1(tmp_path):
    assert (
        plans("rms_norm", tmp_path)["past_l1"]
        == """\
-    X_row = tl.load(X + row_idx * X_row_stride + col_offsets, mask=mask, other=0).to(tl.float32)
-    W_row = tl.load(W + col_offsets, mask=mask, other=0).to(tl.float32)
+    X_row = tl.load(X + row_idx * X_row_stride + col_offsets, mask=mask, other=0, cache_modifier=".cg").to(tl.float32)
+    W_row = tl.load(W + col_offsets, mask=mask, other=0, eviction_policy="evict_last").to(tl.float32)
-    tl.store(Y + row_idx * Y_row_stride + col_offsets, Y_row, mask=mask)
+    tl.store(Y + row_idx * Y_row_stride + col_offsets, Y_row, mask=mask, cache_modifier=".cs")"""
    )


@pytest.mark.parametrize("name", ["layer_norm", "vector_add", *NAMES])
def test_an_access_gets_one_hint(name, tmp_path):
    """A modifier and a policy on the same access do not compile; each plan, and each plan on top of each."""
    program = example(name, tmp_path)
    given, path = example_facts(name, program), program.kernel.place.path
    found = hints(program, given)
    assert len(found) <= 5
    children = [again(program, p.patch.apply(program.texts), tmp_path) for p in found]
    texts = [c.texts[path] for c in children]
    texts += [p.patch.apply(c.texts)[path] for c in children for p in hints(c, given)]
    assert not [line for text in texts for line in text.splitlines() if "cache_modifier" in line and "eviction_policy" in line]


def test_what_is_stored_over_what_was_loaded_may_be_loaded_again(tmp_path):
    program = program_of(ROW_WALK, tmp_path)
    assert {p.parameters["plan"] for p in hints(program, row_facts(program))} >= {"stores"}
    program = program_of(ROW_WALK.replace("tl.store(y_ptr", "tl.store(x_ptr"), tmp_path, "in_place.py")
    assert hints(program, row_facts(program))
    assert not [line for p in hints(program, row_facts(program)) for line in changed(program, p) if line.startswith("+        tl.store")]

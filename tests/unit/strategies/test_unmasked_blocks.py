"""``unmasked_body`` in loops of products: where the blocks end that no mask touches, and what the loop before that end still asks."""

from __future__ import annotations

import pytest

from tests.unit.strategies.mask_samples import ATTENTION, ENDS, STAYS, attention_facts, written
from tests.unit.strategies.samples import again, made_by, program_of
from tests.unit.strategies.test_edits import changed


def split(text, tmp_path, **sizes):
    program = program_of(text, tmp_path)
    found = made_by("unmasked_body", program, attention_facts(program, **sizes))
    return [line[1:] for line in changed(program, found[0]) if line[0] == "+"] if found else []


def test_golden(tmp_path):
    program = program_of(ATTENTION, tmp_path)
    [found] = made_by("unmasked_body", program, attention_facts(program))
    assert found.numerics == "reassociates"
    assert (
        "\n".join(changed(program, found))
        == """\
-    for start_n in range(0, end, BLOCK_N):
+    # Blocks before the edges of masks come first, without those.
+    unmasked = tl.minimum(end, n_kv)
+    if CAUSAL:
+        unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)
+    unmasked = tl.maximum(unmasked, 0) // BLOCK_N * BLOCK_N
+    for start_n in range(0, unmasked, BLOCK_N):
+        cols = start_n + offs_n
+        k = tl.load(K + cols[None, :] * D + offs_d[:, None])
+        qk = tl.dot(q, k) * scale
+        m_new = tl.maximum(m_i, tl.max(qk, axis=1))
+        p = tl.exp(qk - m_new[:, None])
+        alpha = tl.exp(m_i - m_new)
+        l_i = l_i * alpha + tl.sum(p, axis=1)
+        v = tl.load(V + cols[:, None] * D + offs_d[None, :])
+        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
+        m_i = m_new
+    # The others, with all masks.
+    for start_n in range(unmasked, end, BLOCK_N):"""
    )


@pytest.mark.parametrize("name", ENDS)
def test_where_they_end(name, tmp_path):
    changes, wanted = ENDS[name]
    lines = [line.strip() for line in split(written(changes), tmp_path)]
    assert [line for line in wanted if line.strip() not in lines] == []


@pytest.mark.parametrize("name", STAYS)
def test_loops_that_stay(name, tmp_path):
    assert split(written(STAYS[name]), tmp_path) == []


def test_only_once_and_only_where_there_are_blocks(tmp_path):
    program = program_of(ATTENTION, tmp_path)
    [found] = made_by("unmasked_body", program, attention_facts(program))
    child = again(program, found.patch.apply(program.texts), tmp_path)
    assert not made_by("unmasked_body", child, attention_facts(child))
    fixed = written({"range(0, end, BLOCK_N)": "range(0, n_kv, BLOCK_N)"})
    assert split(fixed, tmp_path)
    assert not split(fixed, tmp_path, n=16)  # one block
    longer = written({"        m_i = m_new\n": "        m_i = m_new\n" + "        l_i = l_i + 0\n" * 30})
    assert not split(longer, tmp_path)  # nobody reads that twice

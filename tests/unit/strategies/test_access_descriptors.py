"""``tensor_descriptors``: what it writes, what it needs, and that other moves still read what it wrote."""

from __future__ import annotations

import attrs
import pytest

from kernelband.strategies import strategy
from tests.unit.strategies.access_samples import BATCHED, FLASH, batched_facts, flash_facts
from tests.unit.strategies.samples import H200, again, example, example_facts, made_by, program_of
from tests.unit.strategies.test_edits import changed, proposal


def descriptors(program, given):
    return made_by("tensor_descriptors", program, given)


def test_golden_matmul(tmp_path):
    program = example("matmul", tmp_path)
    found = proposal(program, example_facts("matmul", program), "access_layout.tensor_descriptors(loads=2)")
    assert found.numerics == "exact"
    assert (
        "\n".join(changed(program, found))
        == """\
+    DESCRIPTORS: tl.constexpr,
+    if DESCRIPTORS:
+        a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[stride_am, 1], block_shape=[BLOCK_SIZE_M, BLOCK_SIZE_K])
+        b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[stride_bk, 1], block_shape=[BLOCK_SIZE_K, BLOCK_SIZE_N])
-        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
-        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
+        if DESCRIPTORS:
+            a = a_desc.load([pid_m * BLOCK_SIZE_M, k * BLOCK_SIZE_K])
+            b = b_desc.load([k * BLOCK_SIZE_K, pid_n * BLOCK_SIZE_N])
+        else:
+            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
+            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
+    # TMA reads rows of neighbouring elements, with addresses and strides of whole 16 bytes.
+    descriptors = a.stride(1) == b.stride(1) == 1 and all(
+        n > 0 and n % 16 == 0
+        for n in (
+            a.data_ptr(), b.data_ptr(), a.stride(0) * a.element_size(), b.stride(0) * b.element_size(),
+        )
+    )
+    if descriptors:
+        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=a.device))
+        DESCRIPTORS=descriptors,"""
    )


@pytest.mark.parametrize(("text", "given", "lines"), [
    (BATCHED, batched_facts, ["a = a_desc.load([pid_m * BLOCK_M, start])", "b = tl.trans(b_desc.load([pid_n * BLOCK_N, start]))"]),
    (FLASH, flash_facts, ["k = tl.trans(k_desc.load([start_n, 0]))", "v = v_desc.load([start_n, 0])"]),
], ids=["batched", "flash"])  # fmt: skip
def test_a_batch_moves_the_base_and_a_transposed_tile_is_transposed_back(text, given, lines, tmp_path):
    program = program_of(text, tmp_path)
    [found] = descriptors(program, given(program))
    added = [x.removeprefix("+").strip() for x in changed(program, found)]
    assert all(line in added for line in lines)
    wanted = {"A + pid_b * stride_ab", "B + pid_b * stride_bb", "K + head * stride_kh", "V + head * stride_vh"}
    assert sum(any(x in line for x in wanted) for line in added if "tl.load" not in line) >= 2  # the batch is in the base


REFUSED = {
    "a gathered row": ("(pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M", "tl.load(c_ptr + tl.arange(0, BLOCK_SIZE_M))"),
    "other is one": ("other=0.0", "other=1.0"),
    "a pointer moved by something else": ("a_ptrs += BLOCK_SIZE_K * stride_ak", "a_ptrs += BLOCK_SIZE_K * stride_ak * 2"),
    "a pointer moved before the load": ("        a = tl.load", "        a_ptrs += BLOCK_SIZE_K * stride_ak\n        a = tl.load"),
    "wrapped rows are stored": ("mask=c_mask", "mask=None"),
    "rows are summed after they wrapped": ("c = accumulator", "c = tl.sum(accumulator, axis=0)[None, :] + accumulator"),
    "a stride comes from a call": ("a.stride(0)", "next(strides)"),
    "the mask says something else": ("< K - k * BLOCK_SIZE_K", "< K - k * 8"),
    "a program id that changes in between": (
        "    accumulator = tl.zeros",
        "    pid_m = pid_n\n    pid_n = pid\n    accumulator = tl.zeros",
    ),
    "warps read each other's names": ("    BLOCK_SIZE_M = 64", "    descriptors = use_descriptors = 3\n    BLOCK_SIZE_M = 64"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_no_descriptor_says_keeps_its_pointers(how, tmp_path):
    before, after = REFUSED[how]
    text = example("matmul", tmp_path).texts[str((tmp_path / "matmul.py").resolve())]
    assert before in text
    program = program_of(text.replace(before, after), tmp_path, "refused.py")
    found = descriptors(program, example_facts("matmul", program))
    assert not any(p.parameters["loads"] == 2 for p in found)
    if how != "a gathered row" and "before the load" not in how and "something else" not in how:
        assert not found


def test_facts_decide(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    assert descriptors(program, given)
    assert not descriptors(program, attrs.evolve(given, device=attrs.evolve(H200, arch=80)))
    assert not descriptors(program, attrs.evolve(given, triton=(3, 3)))
    assert not descriptors(program, attrs.evolve(given, cases=()))
    for name, value in (("stride_ak", 2), ("stride_am", 1001), ("stride_bk", 4)):
        cases = tuple({**c, "launches": [{**x, "scalars": {**x["scalars"], name: value}} for x in c["launches"]]} for c in given.cases)
        left = descriptors(program, attrs.evolve(given, cases=cases))
        assert not any(p.parameters["loads"] == 2 for p in left), name


def test_other_moves_go_on_from_there(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    [found] = descriptors(program, given)
    child = again(program, found.patch.apply(program.texts), tmp_path)
    assert descriptors(child, given) == []
    sides = {p.parameters["BLOCK_SIZE_M"] for p in strategy("tiling").propose(child, given) if "BLOCK_SIZE_M" in p.parameters}
    assert max(sides) >= 128  # descriptors know their bounds: larger tiles stay in reach
    assert {p.move for name in ("pipeline", "reordering") for p in strategy(name).propose(child, given)} >= {"loop_stages", "grouped_order"}


def test_strides_passed_as_a_star_are_taken_apart(tmp_path):
    text = BATCHED.replace(
        "a.stride(0), a.stride(1), a.stride(2), b.stride(0), b.stride(1), b.stride(2), c.stride(0), c.stride(1), c.stride(2),",
        "*a.stride(), *b.stride(), *c.stride(),",
    )
    assert text != BATCHED
    found = {}
    for name, code in (("plain", BATCHED), ("star", text)):
        program = program_of(code, tmp_path, f"{name}.py")
        [proposal] = descriptors(program, batched_facts(program))
        found[name] = changed(program, proposal)
    assert found["star"] == found["plain"]


def test_checks_of_small_sizes_don_t_stand_against_it(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    odd = given.cases[0]
    odd = {**odd, "role": "check", "launches": [{**x, "scalars": {**x["scalars"], "stride_am": 37, "K": 37}} for x in odd["launches"]]}
    assert descriptors(program, attrs.evolve(given, cases=(*given.cases, odd)))

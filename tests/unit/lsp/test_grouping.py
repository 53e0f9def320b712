"""Groups of hunks: whichever are kept, what is left hangs together."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from kernelband.lsp.grouping import Change, grouped, put
from kernelband.lsp.hunks import hunks
from kernelband.strategies import STRATEGIES
from tests.unit.lsp.hanging import faults
from tests.unit.strategies.samples import again, example, example_facts

TEXT = '''import torch
import triton
import triton.language as tl

WARPS = 4


@triton.jit
def add(a, b):
    # both as they are
    return a + b


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    """Twice each element.

    Masked.
    """
    pid = tl.program_id(0)

    i = pid * BLOCK + tl.arange(0, BLOCK)
    # one block
    a = tl.load(x + i, mask=i < n)

    b = add(a, a)
    # back
    tl.store(y + i, b, mask=i < n)


def scale(x):
    y = torch.empty_like(x)
    # one program for each block
    n = x.numel()
    # of BLOCK elements
    grid = lambda META: (triton.cdiv(n, META["BLOCK"]),)
    # go
    scale_kernel[grid](x, y, n, num_warps=WARPS)
    # done
    return y
'''
#: Two replacements each that need one another.
TOGETHER = {
    "a parameter and its launch": (("n, BLOCK: tl", "n, factor, BLOCK: tl"), ("x, y, n, num", "x, y, n, 2.0, num")),
    "a parameter and who reads it": (("n, BLOCK: tl", "n, BLOCK: tl.constexpr, LAST: tl"), ("mask=i < n)\n\n", "mask=i < LAST)\n\n")),
    "a constexpr and who reads it": (
        ("y, n, BLOCK", "y, n: tl.constexpr, BLOCK"),
        ("a = tl.load(x + i, mask=i < n)", "a = tl.load(x + i, mask=i < n + 0)"),
    ),
    "a parameter that goes": (("x, y, n, BLOCK", "x, y, BLOCK"), ("x, y, n, num_warps", "x, y, num_warps")),
    "an autotuned parameter and its decorator": (
        ('{"BLOCK": 64}', '{"BLOCK": 64, "M": 2}'),
        ("n, BLOCK: tl.constexpr)", "n, BLOCK: tl.constexpr, M: tl.constexpr)"),
    ),
    "a configuration and a launch that gave it": (('{"BLOCK": 64}', "{}"), ("n, num_warps=WARPS", "n, BLOCK=64, num_warps=WARPS")),
    "a configuration and the grid": (('{"BLOCK": 64}', '{"BLOCK": 64, "M": 2}'), ('n, META["BLOCK"]', 'n, META["BLOCK"] * META["M"]')),
    "a helper's parameter and its call": (("def add(a, b)", "def add(a, b, c)"), ("add(a, a)", "add(a, a, 0)")),
    "what a helper returns and who takes it": (("return a + b", "return a + b, a"), ("b = add(a, a)", "b, _ = add(a, a)")),
    "a renamed local": (("i = pid", "at = pid"), ("a = tl.load(x + i, mask=i < n)", "a = tl.load(x + at, mask=at < n)")),
    "an import and its use": (("import torch\n", "import math\nimport torch\n"), ("n = x.numel()", "n = math.prod(x.shape)")),
    "an import's other name": (("import torch\n", "import torch as t\n"), ("torch.empty_like", "t.empty_like")),
    "a module's name": (("WARPS = 4", "MANY = 4"), ("num_warps=WARPS", "num_warps=MANY")),
    "a new function and its call": (
        ("\n\ndef scale(x)", "\n\ndef empty(x):\n    return torch.empty_like(x)\n\n\ndef scale(x)"),
        ("y = torch.empty_like(x)", "y = empty(x)"),
    ),
    "a statement that moves": (("    n = x.numel()\n", ""), ("    # go\n", "    # go\n    n = x.numel()\n")),
    "a block that is indented": (
        ("    pid = tl.program_id(0)\n\n", "    for pid in range(tl.program_id(0), 4):\n\n    "),
        (
            "    # one block\n    a = tl.load(x + i, mask=i < n)\n\n    b = add(a, a)\n    # back\n    tl",
            "        # one block\n        a = tl.load(x + i, mask=i < n)\n\n        b = add(a, a)\n        # back\n        tl",
        ),
    ),
    "the grid and the program's place": (
        ("pid = tl.program_id(0)", "pid = tl.program_id(0) * 2"),
        ('(triton.cdiv(n, META["BLOCK"]),)', '(triton.cdiv(n, 2 * META["BLOCK"]),)'),
    ),
    "what a value is and what is done with it": (
        ("a = tl.load(x + i, mask=i < n)", "a = tl.load(x + i, mask=i < n)[:, None]"),
        ("tl.store(y + i, b, ", "tl.store(y + i, tl.sum(b, 1), "),
    ),
    "two lines of a docstring": (("Twice each", "Double each"), ("    Masked.", "    With a mask.")),
    "a comment and what is beside it": (("n = x.numel()", "n = x.nelement()"), ("# go\n", "# off it goes\n")),
}
#: Two replacements each that don't.
APART = {
    "hints": (
        ("mask=i < n)\n\n", "mask=i < n, eviction_policy='evict_first')\n\n"),
        ("b, mask=i < n)", "b, mask=i < n, cache_modifier='.cs')"),
    ),
    "warps and arithmetic": (("num_warps=WARPS", "num_warps=8"), ("return a + b", "return b + a")),
    "host and kernel": (("torch.empty_like(x)", "torch.zeros_like(x)"), ("return a + b", "return b + a")),
    "the same name in two functions": (("n = x.numel()", "n = x.nelement()"), ("b = add(a, a)", "b = a + a")),
}

#: Cheap ones, with moves of many hunks, of several groups, and with several kernels in a file.
EXAMPLES = ("column_sum", "cross_entropy", "layer_norm", "layer_norm_bwd_dx_kernel", "matmul", "rms_norm", "rope", "row_quantize")
TWICE = ("cross_entropy", "rms_norm", "rope")
MOST = 4  # groups, up to which each choice of them is looked at


def groups_of(before: str, after: str) -> tuple[Change, list[list[int]]]:
    change = Change(before, after, hunks(before, after))
    return change, [list(g.hunks) for g in grouped([change])]


def parts(change: Change, groups: list[list[int]]):
    """Texts with some of the groups."""
    choices = list(product((False, True), repeat=len(groups)))
    if len(groups) > MOST:
        choices = [c for c in choices if sum(c) in (0, 1, len(groups) - 1, len(groups))]
    for kept in choices:
        numbers = {n for group, k in zip(groups, kept, strict=True) if k for n in group}
        yield "\n".join(put(change.before, [h for n, h in enumerate(change.hunks) if n in numbers]))


def check(before: str, after: str) -> int:
    """How many groups there are, each choice of which hangs together."""
    change, groups = groups_of(before, after)
    assert sorted(n for g in groups for n in g) == list(range(len(change.hunks)))
    assert put(before, change.hunks) == after.split("\n")
    assert faults(before) == faults(after) == []
    for text in parts(change, groups):
        assert faults(text) == [], text
    return len(groups)


def changed(*replacements: tuple[str, str]) -> str:
    text = TEXT
    for old, new in replacements:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize("which", TOGETHER)
def test_what_needs_one_another_is_one_group(which: str) -> None:
    change, groups = groups_of(TEXT, changed(*TOGETHER[which]))
    assert len(change.hunks) > 1
    assert len(groups) == 1


@pytest.mark.parametrize("which", APART)
def test_what_needs_nothing_of_the_other_can_be_kept_alone(which: str) -> None:
    assert check(TEXT, changed(*APART[which])) == 2


def test_hunks_by_themselves_do_not_hang_together() -> None:
    """So that the tests here can fail."""
    kept = ("a parameter that goes", "an import and its use", "a renamed local", "a helper's parameter and its call")
    for which in (*kept, "a block that is indented"):
        change = Change(TEXT, after := changed(*TOGETHER[which]), hunks(TEXT, after))
        assert any(faults(text) for text in parts(change, [[n] for n in range(len(change.hunks))])), which


def test_across_files() -> None:
    before, after = (
        TEXT.split("\n\ndef scale(x)", maxsplit=1)[0],
        changed(TOGETHER["a parameter and its launch"][0]).split("\n\ndef scale(x)")[0],
    )
    host = "import torch\nfrom kernels import scale_kernel as run\n\n\ndef go(x, n):\n    run[(1,)](x, x, n)\n"
    other = host.replace("x, x, n)", "x, x, n, 2.0)")
    changes = [Change(a, b, hunks(a, b)) for a, b in ((before, after), (host, other))]
    (group,) = grouped(changes)
    assert group.hunks == (0, 1)
    assert "factor" in group.label


def test_a_kernel_by_another_name() -> None:
    text = TEXT.replace("    # go\n    scale_kernel[grid]", "    kernel = scale_kernel if n else None\n    # go\n    kernel[grid]")
    after = text.replace("n, BLOCK: tl", "n, factor, BLOCK: tl").replace("x, y, n, num", "x, y, n, 2.0, num")
    assert len(groups_of(text, after)[1]) == 1
    text = TEXT.replace("def scale(x)", "def scale(x, kernel)").replace("scale_kernel[grid]", "kernel[grid]")
    after = text.replace("n, BLOCK: tl", "n, factor, BLOCK: tl").replace("x, y, n, num", "x, y, n, 2.0, num")
    assert len(groups_of(text, after)[1]) == 1


def test_text_that_is_no_python_is_one_group() -> None:
    after = changed(*APART["warps and arithmetic"])
    _, groups = groups_of(TEXT + "def (\n", after + "def (\n")
    assert groups == [[0, 1]]


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("a parameter and its launch", ["factor: scale_kernel and its launch"]),
        ("an autotuned parameter and its decorator", ["M: scale_kernel"]),
        ("an import and its use", ["math, n: the top level and scale"]),
        ("two lines of a docstring", ["scale_kernel"]),
        ("warps and arithmetic", ["add", "num_warps: the launch of scale_kernel"]),
        ("hints", ["eviction_policy: scale_kernel", "cache_modifier: scale_kernel"]),
    ],
)
def test_labels(which: str, said: list[str]) -> None:
    after = changed(*{**TOGETHER, **APART}[which])
    assert [g.label for g in grouped([Change(TEXT, after, hunks(TEXT, after))])] == said


@pytest.mark.parametrize("name", EXAMPLES)
def test_any_part_of_a_move_on_an_example_hangs_together(name: str, tmp_path: Path) -> None:
    program = example(name, tmp_path)
    path = program.kernel.place.path
    seen = set[str]()
    for proposal in (p for s in STRATEGIES for p in s.propose(program, example_facts(name, program))):
        move = proposal.key.partition("(")[0]
        after = proposal.patch.apply(program.texts)[path]
        if len(hunks(program.texts[path], after)) > 1 and move not in seen:
            seen.add(move)
            check(program.texts[path], after)
    assert seen


@pytest.mark.parametrize("name", TWICE)
def test_any_part_of_two_moves_on_an_example_hangs_together(name: str, tmp_path: Path) -> None:
    program = example(name, tmp_path)
    path = program.kernel.place.path
    known = example_facts(name, program)
    found = {p.key.partition("(")[0]: p for s in STRATEGIES for p in s.propose(program, known)}
    firsts = list(found.values())[::4][:2]
    for first in firsts:
        middle = again(program, first.patch.apply(program.texts), tmp_path)
        second = {p.key.partition("(")[0]: p for s in STRATEGIES for p in s.propose(middle, known)}
        for proposal in list(second.values())[1::4][:2]:
            check(program.texts[path], proposal.patch.apply(middle.texts)[path])

"""``kernel[grid](..., **settings)`` with a dictionary that stands in the host function: its numbers change there."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.strategies import Facts, Proposal
from kernelband.strategies.code import View
from tests.unit.strategies.samples import facts, launch, made_by, program_of

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def shift_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 + tl.load(x + i, mask=i < n), mask=i < n)


def scale(x, fast=True):
    y, n = torch.empty_like(x), x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    settings = {"BLOCK": 64, "num_warps": 4}
    scale_kernel[grid](x, y, n, **settings)
    return y
"""
DICTIONARY = 'settings = {"BLOCK": 64, "num_warps": 4}'


def given(text: str, tmp_path: Path) -> tuple[View | None, list[Proposal]]:
    """What is read of the text, and its tiles of another block."""
    program = program_of(text, tmp_path, kernel="scale_kernel")
    tensors = {"x": ([1 << 20], "float32"), "y": ([1 << 20], "float32")}
    told: Facts = facts(launch(program, [1 << 14, 1, 1], {"BLOCK": 64}, {"n": 1 << 20}, tensors))
    return View.read(program, told), [p for p in made_by("tiles", program, told) if "BLOCK" in p.parameters]


def texts(text: str, tmp_path: Path) -> list[str]:
    program = program_of(text, tmp_path, kernel="scale_kernel")
    return [p.patch.apply(program.texts)[program.kernel.place.path] for p in given(text, tmp_path)[1]]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (DICTIONARY, 'settings = {"BLOCK": 1024, "num_warps": 8}'),
        ("settings = dict(BLOCK=64, num_warps=4)", "settings = dict(BLOCK=1024, num_warps=8)"),
        ('settings: dict[str, int] = {"BLOCK": 64, "num_warps": 4}', 'settings: dict[str, int] = {"BLOCK": 1024, "num_warps": 8}'),
    ],
)
def test_block_and_warps_change_in_the_dictionary(written: str, wanted: str, tmp_path: Path) -> None:
    text = TEXT.replace(DICTIONARY, written)
    assert text.replace(written, wanted) in texts(text, tmp_path)


def test_at_the_launch_itself(tmp_path: Path) -> None:
    text = TEXT.replace(f"    {DICTIONARY}\n", "").replace("**settings", '**{"BLOCK": 64}')
    assert text.replace('**{"BLOCK": 64}', '**{"BLOCK": 1024}, num_warps=8') in texts(text, tmp_path)


def test_what_the_dictionary_does_not_have_is_written_at_the_launch(tmp_path: Path) -> None:
    text = TEXT.replace(', "num_warps": 4', "")
    assert text.replace("64}", "1024}").replace("**settings", "**settings, num_warps=8") in texts(text, tmp_path)


def test_each_branch_has_its_own(tmp_path: Path) -> None:
    """The other's is another kernel's, of the same name."""
    branches = f"""    if fast:
        {DICTIONARY}
        scale_kernel[grid](x, y, n, **settings)
    else:
        settings = {{"BLOCK": 32}}
        shift_kernel[grid](x, y, n, **settings)
"""
    text = TEXT.replace(f"    {DICTIONARY}\n    scale_kernel[grid](x, y, n, **settings)\n", branches)
    assert text.replace(DICTIONARY, 'settings = {"BLOCK": 1024, "num_warps": 8}') in texts(text, tmp_path)


LAUNCH = "scale_kernel[grid](x, y, n, **settings)"


@pytest.mark.parametrize(
    "edits",
    {
        "it is read": [(LAUNCH, f"{LAUNCH}\n    print(settings)")],
        "it is written into": [(f"    {LAUNCH}", f'    settings["BLOCK"] = 32\n    {LAUNCH}')],
        "something goes from it": [(f"    {LAUNCH}", f'    del settings["num_warps"]\n    {LAUNCH}')],
        "another kernel gets it": [(LAUNCH, f"{LAUNCH}\n    shift_kernel[grid](y, y, n, **settings)")],
        "another function gets it": [(LAUNCH, f"{LAUNCH}\n    print(**settings)")],
        "the caller's": [(f"    {DICTIONARY}\n", ""), ("fast=True", "settings")],
        "the module's": [(f"    {DICTIONARY}\n", ""), ("def scale(", f"{DICTIONARY}\n\n\ndef scale(")],
        "set again": [(DICTIONARY, f'{DICTIONARY}\n    if fast:\n        settings = {{"BLOCK": 32}}')],
        "set in a loop behind the launch": [
            (f"    {LAUNCH}", f'    for _ in range(2):\n        {LAUNCH}\n        settings = {{"BLOCK": 32}}')
        ],
        "computed": [("64,", "n // 2,")],
        "more in it": [('"BLOCK": 64', '"BLOCK": 64, **{}')],
        "keys that are computed": [('"BLOCK"', '"BLO" + "CK"')],
        "a function's": [(DICTIONARY, "settings = best(n)")],
        "two names": [(DICTIONARY, f"other = {DICTIONARY}")],
    }.items(),
    ids=lambda item: item[0],
)
def test_nothing_changes_where_it_may_hold_something_else(edits: tuple[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    text = TEXT
    for was, now in edits[1]:
        assert was in text
        text = text.replace(was, now)
    view, tiles = given(text, tmp_path)
    assert tiles == []
    assert view is not None


def test_a_variable_that_another_kernel_gets_by_its_dictionary_stays(tmp_path: Path) -> None:
    own = "scale_kernel[grid](x, y, n, BLOCK=64, num_warps=warps)"
    text = TEXT.replace(DICTIONARY, 'warps = 4\n    theirs = {"BLOCK": 64, "num_warps": warps}').replace(LAUNCH, own)
    assert any("num_warps=8" in t and "warps = 4" in t for t in texts(text, tmp_path))  # the dictionary reads it
    alone = text.replace('    theirs = {"BLOCK": 64, "num_warps": warps}\n', "")
    assert any("warps = 8" in t for t in texts(alone, tmp_path))
    counted = alone.replace("num_warps=warps", "num_warps=warps, fast=warps")
    assert not any("warps = 8" in t for t in texts(counted, tmp_path))
    both = texts(text.replace(own, f"{own}\n    shift_kernel[grid](y, y, n, **theirs)"), tmp_path)
    assert both
    assert all("warps = 4" in t for t in both)


ROW = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row + i, mask=i < n, other=0.0))
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(y + row + i, tl.load(x + row + i, mask=i < n, other=0.0) / total, mask=i < n)


def scale(x):
    FIRST
    settings = {"BLOCK": 64, "num_warps": 4}
    SECOND
    scale_kernel[(x.shape[0],)](x, y, n, **settings)
    return y
"""
Y, N = "y = torch.empty_like(x)", "n = x.shape[1]"


@pytest.mark.parametrize(("first", "second", "wanted"), [(N, Y, True), (Y, N, False)])
def test_a_block_for_the_row_where_its_length_is_known(first: str, second: str, *, wanted: bool, tmp_path: Path) -> None:
    """The dictionary's place, above the launch."""
    program = program_of(ROW.replace("FIRST", first).replace("SECOND", second), tmp_path)
    tensors = {"x": ([4096, 1000], "float32"), "y": ([4096, 1000], "float32")}
    found = made_by("one_block", program, facts(launch(program, [4096, 1, 1], {"BLOCK": 64}, {"n": 1000}, tensors)))
    assert bool(found) == wanted
    for proposal in found:
        text = proposal.patch.apply(program.texts)[program.kernel.place.path]
        assert '{"BLOCK": min(' in text
        assert text.index(N) < text.index("{")


def test_warps_that_the_kernel_computes_with_stay(tmp_path: Path) -> None:
    text = TEXT.replace("BLOCK: tl.constexpr):\n", "BLOCK: tl.constexpr, num_warps: tl.constexpr):\n", 1)
    assert {p.parameters["num_warps"] for p in given(text, tmp_path)[1]} > {4}
    assert {p.parameters["num_warps"] for p in given(text.replace("2.0 * tl.load", "num_warps * tl.load"), tmp_path)[1]} == {4}

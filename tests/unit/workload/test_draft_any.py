"""Whatever is written, a draft is Python that stands on its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.workload.drafting import COPY, HEAD, ROWS, require_complete

from kernelband.source import Workspace, find_program
from kernelband.workload.draft import draft_entry

NAMES = st.sampled_from(
    ["x", "w", "q", "n", "eps", "idx", "labels", "causal", "D", "class_", "torch_", "dtype", "module", "out", "self_", "é"]
)
STATEMENTS = st.sampled_from(
    [
        "M, N = {a}.shape",
        "B, H, T, D = {a}.shape",
        "*rest, D = {a}.shape",
        "assert {a}.shape == {b}.shape",
        "assert {a}.shape[-1] == {b}.shape[0]",
        "assert {a}.shape[1] == 2 * {b}.shape[1]",
        "assert {a}.numel() == {b}.numel()",
        "assert {a}.numel() == {b}.shape[0] * {a}.shape[0]",
        "assert {a}.shape[0] % {b} == 0",
        "assert {a}.shape[0] == {b}",
        "assert {a} in (16, 64)",
        "assert 0 < {a} < {b}",
        "assert isinstance({a}, int)",
        "if {a}.dim() == 3:\n        {a} = {a}.view(-1, {a}.shape[-1])",
        "{a} = {a}.reshape(-1, {b}.shape[-1])",
        "{a} = {b}",
        "{a} = {a}.t()",
        "if {a} is None:\n        {a} = torch.empty_like({b})",
        "if {b}:\n        {a} = {a}.contiguous()",
        "for t in {a}:\n        assert t.shape == {b}.shape",
        "assert {a}.dtype == {b}.dtype",
        "copy_kernel[({a}.shape[0],)]({a}, {b}, {a}.numel(), BLOCK={b})",
        "rows_kernel[(8,)]({a}, {b}, {a}, {b}.stride(0), {a}.shape[1], BLOCK=64)",
        "scale({a}, {b})",
    ]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    body=st.lists(st.tuples(STATEMENTS, st.integers(0, 3), st.integers(0, 3)), max_size=6),
)
@settings(max_examples=120, deadline=None)
def test_a_draft_is_always_python(folder: Path, names: list[str], body: list[tuple[str, int, int]]) -> None:
    lines = [text.format(a=names[a % len(names)], b=names[b % len(names)]) for text, a, b in body]
    lines.append(f"copy_kernel[(1,)]({names[0]}, {names[-1]}, 5, BLOCK=64)")
    host = f"def scale({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)
    path = str(folder / "ops.py")  # on no disk
    workspace = Workspace.for_file(path, {path: HEAD + COPY + ROWS + host})
    draft = draft_entry(workspace, find_program(workspace, path, "copy_kernel"))
    require_complete(draft)
    assert len(draft.text) < 6000

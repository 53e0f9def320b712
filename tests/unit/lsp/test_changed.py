"""Which kernels a branch has touched: by what their programs are, not by which lines differ."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernelband.errors import SourceError
from kernelband.lsp.features.verify import Changed, changed_kernels

KERNEL = """import triton
import triton.language as tl
from helpers import twice

SIZE = 4


@triton.jit
def k(x, BLOCK: tl.constexpr):
    tl.store(x, twice(tl.load(x)))


@triton.jit
def other(x):
    tl.store(x, 1)
"""
HELPERS = """import triton


@triton.jit
def twice(x):
    return 2 * x
"""
HOST = """from kernels import k


def launch(x):
    k[(1,)](x, BLOCK=4)
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name, text in (("kernels", KERNEL), ("helpers", HELPERS), ("hosts", HOST), ("plain", "X = 1\n")):
        (tmp_path / f"{name}.py").write_text(text)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def changed(work: Path, texts: dict[str, str] | None = None) -> list[str]:
    found = changed_kernels(str(work), "HEAD", texts or {})
    assert found == sorted(found, key=lambda c: c.path)
    return [f"{Path(c.path).name}::{c.kernel}" for c in found]


def edit(work: Path, name: str, old: str, new: str) -> str:
    path = work / f"{name}.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return str(path)


def test_nothing_is_changed_at_first(work: Path) -> None:
    assert changed(work) == []


def test_of_two_kernels_of_a_call_the_one_that_was_edited_is_judged(work: Path) -> None:
    both = HOST.replace("import k", "import k, other") + "    other[(1,)](x)\n"
    (work / "hosts.py").write_text(both)
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", "commit", "-qam", "both"], cwd=work, check=True, capture_output=True)
    edit(work, "kernels", "tl.store(x, 1)", "tl.store(x, 2)")
    assert changed(work) == ["kernels.py::other"]
    edit(work, "hosts", "BLOCK=4", "BLOCK=8")
    assert changed(work) == ["kernels.py::k", "kernels.py::other"]


def test_that_holds_in_one_file_too(work: Path) -> None:
    (work / "kernels.py").write_text(KERNEL + "\n\ndef launch(x):\n    k[(1,)](x, BLOCK=4)\n    other[(1,)](x)\n")
    (work / "hosts.py").write_text("")
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", "commit", "-qam", "both"], cwd=work, check=True, capture_output=True)
    edit(work, "kernels", "tl.store(x, 1)", "tl.store(x, 2)")
    assert changed(work) == ["kernels.py::other"]


def test_comments_and_other_functions_don_t_count(work: Path) -> None:
    edit(work, "kernels", "SIZE = 4", "SIZE = 5  # nobody reads it")
    edit(work, "plain", "1", "2")
    assert changed(work) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "kernels"),
    [
        ("kernels", "tl.store(x, 1)", "tl.store(x, 2)", ["kernels.py::other"]),
        ("helpers", "2 * x", "x + x", ["kernels.py::k"]),
        ("hosts", "BLOCK=4", "BLOCK=8", ["kernels.py::k"]),
    ],
)
def test_kernel_helper_and_host_count(work: Path, name: str, old: str, new: str, kernels: list[str]) -> None:
    edit(work, name, old, new)
    assert changed(work) == kernels


def test_a_new_file_and_a_new_kernel_count(work: Path) -> None:
    (work / "new.py").write_text(KERNEL.replace("def other", "def third"))
    assert changed(work) == ["new.py::k", "new.py::third"]


def test_open_texts_stand_for_files(work: Path) -> None:
    path = work / "kernels.py"
    assert changed(work, {str(path): KERNEL.replace("(x, 1)", "(x, 3)")}) == ["kernels.py::other"]
    edit(work, "kernels", "tl.store(x, 1)", "tl.store(x, 2)")
    assert changed(work, {str(path): KERNEL}) == []


def test_a_file_that_is_no_python_now_is_left_out(work: Path) -> None:
    (work / "hosts.py").write_bytes(b"\0\xff")
    edit(work, "kernels", "tl.store(x, 1)", "tl.store(x, 2)")
    assert "kernels.py::other" in changed(work)


def test_a_helper_counts_by_itself_where_it_is_launched_too(work: Path) -> None:
    edit(work, "helpers", "2 * x", "x + x")
    (work / "direct.py").write_text("from helpers import twice\n\n\ndef run(x):\n    twice[(1,)](x)\n")
    assert changed(work) == ["helpers.py::twice", "kernels.py::k"]


def test_what_isn_t_a_commit_is_said(work: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        changed_kernels(str(work), "nowhere", {})
    with pytest.raises(SourceError, match="git"):
        changed_kernels(str(tmp_path_factory.mktemp("plain")), "HEAD", {})
    assert changed_kernels(str(work), "HEAD", {}) == list[Changed]()

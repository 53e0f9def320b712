"""Roots, texts, encodings, and modules as Python would find them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelband.errors import SourceError
from kernelband.source import Workspace
from kernelband.source.encoding import MAX_FILE_BYTES
from kernelband.source.folders import find_roots, python_files


def make(folder: Path, *files: str) -> None:
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("") if path.suffix else path.mkdir(exist_ok=True)


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        (["a/b/c.py"], ["a/b"]),
        (["a/pyproject.toml", "a/b/c.py"], ["a"]),
        (["setup.py", "a/pyproject.toml", "a/b/c.py"], ["a"]),
        (["a/setup.cfg", "a/b/c.py", ".git"], ["a", "."]),
        (["a/b/c.py", "a/.git", "pyproject.toml"], ["a"]),
    ],
)
def test_roots(tmp_path: Path, files: list[str], roots: list[str]) -> None:
    make(tmp_path, *files)
    found = find_roots(str(tmp_path / "a" / "b" / "c.py"))
    assert found[: len(roots)] == tuple(os.path.normpath(tmp_path / r) for r in roots)


def test_a_repository_in_the_home_folder_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, ".git", "a/c.py")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_roots(str(tmp_path / "a" / "c.py")) == (str(tmp_path / "a"),)


def test_a_package_in_no_project_is_found_with_what_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "pkg" / "ops" / "cuda" / "more"
    deep.mkdir(parents=True)
    for folder in (deep, *deep.parents[:3]):
        (folder / "__init__.py").write_text("")
    (deep / "kernel.py").write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_kernel.py").write_text("")
    assert find_roots(str(deep / "kernel.py")) == (str(tmp_path),)
    assert {str(deep / "kernel.py"), str(tmp_path / "tests" / "test_kernel.py")} <= set(python_files(str(tmp_path)))
    assert Workspace.for_file(str(deep / "kernel.py"), {}).module_name(str(deep / "kernel.py")) == "pkg.ops.cuda.more.kernel"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_roots(str(deep / "kernel.py")) == (str(tmp_path / "pkg"),)


@pytest.mark.parametrize("name", ["site-packages", "dist-packages"])
def test_an_installed_package_is_not_found_with_its_neighbours(tmp_path: Path, name: str) -> None:
    make(tmp_path, f"{name}/pkg/__init__.py", f"{name}/pkg/ops/__init__.py", f"{name}/pkg/ops/k.py", f"{name}/other/__init__.py")
    kernel = str(tmp_path / name / "pkg" / "ops" / "k.py")
    assert find_roots(kernel) == (str(tmp_path / name / "pkg"),)
    assert Workspace.for_file(kernel, {}).module_name(kernel) == "pkg.ops.k"


def test_a_search_in_a_folder_that_is_no_project_stays_near(tmp_path: Path) -> None:
    make(tmp_path, "run.py", "a/x.py", "a/b/y.py", "a/b/c/z.py")
    space = Workspace([str(tmp_path)])
    assert [Path(p).name for p in space.files(str(tmp_path / "run.py"))] == ["run.py", "x.py", "y.py"]
    make(tmp_path, "setup.py")
    assert [Path(p).name for p in space.files(str(tmp_path / "a/x.py"))] == ["x.py", "y.py", "z.py", "run.py", "setup.py"]


def test_the_nearest_files_are_looked_through_first(tmp_path: Path) -> None:
    make(tmp_path, "setup.py", "a/1.py", "b/2.py", "b/c/3.py", "b/c/d/4.py", "b/e/5.py", "z/6.py")
    found = [Path(p).stem for p in Workspace([str(tmp_path)]).files(str(tmp_path / "b/c/3.py"), limit=6)]
    assert found == ["3", "4", "2", "5", "setup", "1"]


# ---------------------------------------------------------------- names


def test_a_script_is_named_from_its_own_folder_and_neighbours_from_the_root(tmp_path: Path) -> None:
    make(tmp_path, "pyproject.toml", "examples/softmax.py", "main.py", "ops/k.py", "pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/m.py")
    script = Workspace.for_file(str(tmp_path / "examples/softmax.py"))
    assert script.module_name(str(tmp_path / "examples/softmax.py")) == "softmax"
    assert script.module_name(str(tmp_path / "main.py")) == "main"
    assert script.module_name(str(tmp_path / "pkg/sub/m.py")) == "pkg.sub.m"
    assert script.module_name(str(tmp_path / "pkg/__init__.py")) == "pkg"
    entry = Workspace.for_file(str(tmp_path / "ops/k.py"), entry=str(tmp_path / "main.py"))
    assert entry.module_name(str(tmp_path / "ops/k.py")) == "ops.k"
    assert entry.module_name(str(tmp_path / "main.py")) == "main"


def test_src_layout_and_a_package_in_an_odd_folder(tmp_path: Path) -> None:
    make(tmp_path, "pyproject.toml", "src/lib/__init__.py", "src/lib/a.py", "python/odd/__init__.py", "python/odd/b.py", "tests/test_b.py")
    space = Workspace.for_file(str(tmp_path / "python/odd/b.py"), entry=str(tmp_path / "tests/test_b.py"))
    assert space.module_name(str(tmp_path / "src/lib/a.py")) == "lib.a"
    assert space.module_name(str(tmp_path / "python/odd/b.py")) == "odd.b"
    assert space.module_name(str(tmp_path / "tests/test_b.py")) == "test_b"
    assert (space.find_module("odd.b") or {})["path"] == str(tmp_path / "python/odd/b.py")


def test_an_entry_that_puts_the_folder_on_its_path_itself(tmp_path: Path) -> None:
    make(tmp_path, "pyproject.toml", "ops/softmax.py", "tests/test_a.py", "tests/test_b.py")
    kernel = str(tmp_path / "ops/softmax.py")
    (tmp_path / "tests/test_a.py").write_text("import sys\nsys.path.insert(0, '../ops')\nfrom softmax import softmax\n")
    (tmp_path / "tests/test_b.py").write_text("from ops.softmax import softmax\n")
    own = Workspace.for_file(kernel, entry=str(tmp_path / "tests/test_a.py"))
    assert (own.module_name(kernel), "softmax" in own.top_level()) == ("softmax", True)
    assert Workspace.for_file(kernel, entry=str(tmp_path / "tests/test_b.py")).module_name(kernel) == "ops.softmax"


def test_beside_what_is_run_as_python_and_pytest_look(tmp_path: Path) -> None:
    names = ("bench/scripts/__init__.py", "bench/scripts/one.py", "bench/scripts/shapes.py", "tests/deep/test_one.py", "tests/deep/help.py")
    for name in ("pyproject.toml", "kernel.py", *names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    workspace = Workspace.for_file(str(tmp_path / "kernel.py"))
    before = {name: workspace.module_name(str(tmp_path / name)) for name in names}
    assert workspace.locate("shapes") is workspace.locate("help") is None
    workspace.search_beside(str(tmp_path / "tests/deep/test_one.py"), script=False)
    assert workspace.locate("help") == (str(tmp_path / "tests/deep/help.py"), False)
    workspace.search_beside(str(tmp_path / "bench/scripts/one.py"), script=False)
    assert workspace.locate("shapes") is None
    workspace.search_beside(str(tmp_path / "bench/scripts/one.py"), script=True)
    assert workspace.locate("shapes") == (str(tmp_path / "bench/scripts/shapes.py"), False)
    assert {name: workspace.module_name(str(tmp_path / name)) for name in names} == before


def test_a_name_that_can_not_be_imported(tmp_path: Path) -> None:
    """It is served under one of ours, where it is what the workspace is about."""
    make(tmp_path, "01-add.py", "02-bench.py", "03-other.py", "_01_add.py")
    kernel, entry, other = (str(tmp_path / name) for name in ("01-add.py", "02-bench.py", "03-other.py"))
    workspace = Workspace.for_file(kernel, entry=entry)
    for path, name in ((kernel, "_01_add_py"), (entry, "_02_bench_py")):
        assert workspace.module_name(path) == name
        assert workspace.locate(name) == (path, False)
        assert name in workspace.top_level()
    assert workspace.locate("_01_add") == (str(tmp_path / "_01_add.py"), False)
    with pytest.raises(SourceError, match=r"can't be imported under its name: rename it .* _03_other\.py"):
        workspace.module_name(other)


def test_modules_as_python_finds_them(tmp_path: Path) -> None:
    """The same questions to the workspace and to the interpreter with the same search path."""
    make(
        tmp_path,
        "pyproject.toml",
        "run.py",
        "one.py",
        "pkg/__init__.py",
        "pkg/a.py",
        "pkg/in/x.py",
        "space/b.py",
        "both.py",
        "both/__init__.py",
    )
    make(tmp_path, "src/one.py", "src/deep/__init__.py", "src/deep/er/__init__.py", "src/space/c.py")
    space = Workspace.for_file(str(tmp_path / "run.py"))
    names = ["run", "one", "pkg", "pkg.a", "space", "space.b", "both", "deep", "deep.er", "missing", "pkg.missing"]
    asked = (
        "import sys, importlib.util as u\n"
        f"sys.path[:0] = {list(space.search_path)!r}\n"
        f"for n in {names!r}:\n"
        "    try: s = u.find_spec(n)\n"
        "    except ModuleNotFoundError: s = None\n"
        "    print(n, None if s is None else s.origin if s.has_location else list(s.submodule_search_locations)[0])\n"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=250).stdout
    mine = [space.find_module(n) for n in names]
    assert [f"{n} {None if f is None else f['path']}" for n, f in zip(names, mine, strict=True)] == told.splitlines()
    assert [f["package"] for f in mine if f is not None] == [False, False, True, False, True, False, True, True, True]
    assert [f["name"] for f in mine if f is not None and f["sha256"] is None] == ["space"]


def test_top_level_names(tmp_path: Path) -> None:
    make(
        tmp_path,
        "pyproject.toml",
        "run.py",
        "pkg/__init__.py",
        "space/b.py",
        "data/x.csv",
        ".hidden/a.py",
        "venv/a.py",
        "email/a.py",
        "not-one.py",
    )
    make(tmp_path, "env2/pyvenv.cfg", "env2/a.py", "torch/a.py", "triton.py", "src/lib/__init__.py", "deep/er/a.py")
    overlays = {str(tmp_path / "unsaved.py"): "", str(tmp_path / "newpkg/a.py"): ""}
    space = Workspace.for_file(str(tmp_path / "run.py"), overlays)
    assert space.top_level() == ["deep", "lib", "newpkg", "pkg", "run", "space", "src", "unsaved"]
    assert space.find_module("torch.a") is None
    assert (space.find_module("newpkg.a") or {})["path"] == str(tmp_path / "newpkg/a.py")


# ---------------------------------------------------------------- texts


def test_what_is_served_is_the_overlay_as_utf8(tmp_path: Path) -> None:
    make(tmp_path, "run.py", "latin.py")
    (tmp_path / "latin.py").write_bytes("# coding: latin-1\nx = 'é'\r\n".encode("latin-1"))
    space = Workspace.for_file(str(tmp_path / "run.py"), {str(tmp_path / "run.py"): "y = 'ü'\n"})
    for name, text in (("run", "y = 'ü'\n"), ("latin", "# coding: latin-1\nx = 'é'\r\n")):
        file = space.find_module(name)
        assert file is not None
        assert file["sha256"] is not None
        assert space.blob(file["sha256"]) == text.encode()
        assert hashlib.sha256(text.encode()).hexdigest() == file["sha256"]
    with pytest.raises(SourceError, match="never named"):
        space.blob("0" * 64)
    assert space.blob(space.keep("a variant")) == b"a variant"


def test_nothing_outside_the_roots_is_read(tmp_path: Path) -> None:
    make(tmp_path, "in/pyproject.toml", "in/run.py", "out/secret.py", "out/pkg/__init__.py")
    (tmp_path / "in/link.py").symlink_to(tmp_path / "out/secret.py")
    (tmp_path / "in/pkg").symlink_to(tmp_path / "out/pkg")
    space = Workspace.for_file(str(tmp_path / "in/run.py"))
    for path in ("out/secret.py", "in/link.py", "in/../out/secret.py"):
        with pytest.raises(SourceError, match="lies outside the workspace"):
            space.read(str(tmp_path / path))
    assert space.find_module("link") is None
    assert space.find_module("pkg") is None
    assert not space.mentions(str(tmp_path / "out/secret.py"), "")
    assert [Path(p).name for p in space.files(str(tmp_path / "in/run.py"))] == ["run.py"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.py", "There is no file gone.py: check the name and the folder that you are in."),
        ("folder", "folder is a directory: name a Python file in it, such as folder/FILE.py."),
        ("binary.py", "binary.py isn't text: it holds zero bytes. Name a Python file."),
    ],
)
def test_what_can_not_be_read(tmp_path: Path, name: str, message: str) -> None:
    make(tmp_path, "run.py", "folder/a.py")
    (tmp_path / "binary.py").write_bytes(b"\x7fELF\0\0")
    space = Workspace([str(tmp_path)])
    with pytest.raises(SourceError) as caught:
        space.read(str(tmp_path / name))
    assert caught.value.message.replace(f"{tmp_path}/", "") == message


def test_a_file_and_an_unsaved_text_may_be_so_large(tmp_path: Path) -> None:
    most, over = "#" * MAX_FILE_BYTES, "é" * (MAX_FILE_BYTES // 2) + "#"  # its characters alone are few enough
    for name, text in (("most.py", most), ("over.py", over)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / f"unsaved_{name}").touch()
    space = Workspace([str(tmp_path)], {str(tmp_path / "unsaved_most.py"): most, str(tmp_path / "unsaved_over.py"): over})
    for kind in ("", "unsaved_"):
        assert space.read(str(tmp_path / f"{kind}most.py")) == most
        with pytest.raises(SourceError) as caught:
            space.read(f"{tmp_path}/{kind}over.py")
        said = "over.py has 4,000,001 bytes, more than the 4,000,000 that are read of one file: move its kernels into a smaller one."
        assert caught.value.message == f"{tmp_path}/{kind}{said}"


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    space = Workspace([str(tmp_path)])
    assert space.read(str(tmp_path / "a.py")) == "x = 1\n"
    (tmp_path / "a.py").write_text("x = 12\n")
    assert space.read(str(tmp_path / "a.py")) == "x = 12\n"

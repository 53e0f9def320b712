"""The kernels of a folder: every file is read once, and what can't be read is named and stops nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernelband.source import Census, Listed, census
from kernelband.source.census import LARGEST, Look
from kernelband.source.encoding import MAX_FILE_BYTES

KERNEL = "import triton\n\n@triton.jit\ndef {}(x):\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files with kernels, one that only speaks of them, one that doesn't; and folders that aren't the user's code."""
    work = tmp_path / "work"
    for name in ("deep/deeper/deepest", ".hidden", "node_modules"):
        (work / name).mkdir(parents=True)
    (work / "one.py").write_text(KERNEL.format("one"))
    (work / "deep/deeper/deepest/two.py").write_text(KERNEL.format("two"))
    (work / "about.py").write_text("# triton's jit\n")
    (work / "plain.py").write_text("x = 1\n")
    (work / "notes.txt").write_text(KERNEL.format("none"))
    (work / ".hidden/none.py").write_text(KERNEL.format("none"))
    (work / "node_modules/none.py").write_text(KERNEL.format("none"))
    return work


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what was found is kept, however little it was."""
    monkeypatch.setattr(census, "WORTH", 1)
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files whose text is read for kernels, as they are."""
    names: list[str] = []
    plain = census.list_kernels

    def listing(path: str, text: str) -> tuple[Listed, ...]:
        names.append(os.path.basename(path))
        return plain(path, text)

    monkeypatch.setattr(census, "list_kernels", listing)
    return names


def looked(folder: Path, cache: Path) -> Look:
    """By a process that has seen nothing yet."""
    return Census(str(folder), cache, deepest=9).look()


def names(look: Look) -> list[str]:
    return sorted(k.qualname for listed in look.kernels.values() for k in listed)


def test_kernels_of_a_folder(folder: Path, cache: Path) -> None:
    one, two = str(folder / "one.py"), str(folder / "deep/deeper/deepest/two.py")
    assert looked(folder, cache) == Look({one: (Listed("one", 4, ("x",), ()),), two: (Listed("two", 4, ("x",), ()),)})


def test_how_deep(folder: Path, cache: Path) -> None:
    assert names(Census(str(folder), cache).look()) == ["one"], "a folder that is no project isn't looked through to the ground"
    (folder / "pyproject.toml").touch()
    assert names(Census(str(folder), cache).look()) == ["one", "two"]


def test_what_is_left_out_is_there_the_next_time(folder: Path, cache: Path) -> None:
    looks = Census(str(folder), cache, deepest=9)
    assert names(looks.look(without={str(folder / "one.py")})) == ["two"]
    assert names(looks.look()) == ["one", "two"]


def test_only_what_has_changed_is_read_again_by_the_next_process_too(folder: Path, cache: Path, read: list[str]) -> None:
    first = looked(folder, cache)
    assert sorted(read) == ["about.py", "one.py", "two.py"]
    read.clear()
    assert looked(folder, cache) == first
    assert read == []
    (folder / "one.py").write_text(KERNEL.format("another"))
    (folder / "deep/deeper/deepest/two.py").unlink()
    assert names(looked(folder, cache)) == ["another"]
    assert read == ["one.py"]


def test_few_files_are_not_worth_keeping(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "WORTH", 100)
    assert names(looked(folder, cache)) == ["one", "two"]
    assert not cache.exists()


def test_what_is_kept_is_for_its_user_and_in_no_workspace(folder: Path, cache: Path) -> None:
    before = sorted(folder.rglob("*"))
    looked(folder, cache)
    (kept,) = cache.iterdir()
    assert (kept.stat().st_mode & 0o777, cache.stat().st_mode & 0o777) == (0o600, 0o700)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("damage", ["", "no JSON", "{}\n", "[1]\n[2]\n", None])
def test_what_is_kept_and_damaged_or_of_another_version_is_read_again(
    folder: Path, cache: Path, read: list[str], damage: str | None
) -> None:
    looked(folder, cache)
    (kept,) = cache.iterdir()
    head, *rest = kept.read_text().splitlines(keepends=True)
    if damage is None:  # right to its middle
        damage = head + rest[0] + rest[1][:5]
    kept.write_text(damage)
    read.clear()
    assert names(looked(folder, cache)) == ["one", "two"]
    assert read
    kept.write_text(json.dumps({"kernelband": "0.0.1", "format": 1}) + "\n" + "".join(rest).replace('"one"', '"wrong"'))
    assert names(looked(folder, cache)) == ["one", "two"]


def test_a_cache_that_can_not_be_written_costs_nothing_but_time(folder: Path, tmp_path: Path, cache: Path) -> None:
    cache.parent.touch()
    assert names(looked(folder, cache)) == ["one", "two"]
    assert cache.parent.read_text() == ""


def test_folders_that_nobody_looks_at_any_more_are_forgotten(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "KEPT", 2)
    for number in range(4):
        work = tmp_path / str(number)
        work.mkdir()
        (work / "k.py").write_text(KERNEL.format(f"k{number}"))
        assert names(looked(work, cache)) == [f"k{number}"]
    assert len(list(cache.iterdir())) == 2


def test_files_that_can_not_be_read_are_named(folder: Path, cache: Path) -> None:
    (folder / "bytes.py").write_bytes(b"# triton jit \xff\n")
    (folder / "big.py").write_text(KERNEL.format("big") + "#" * LARGEST)
    (folder / "huge.py").write_text("#" * (MAX_FILE_BYTES + 1))
    (folder / "large.py").write_text("#" * LARGEST * 2)
    (folder / "gone.py").symlink_to(folder / "nowhere.py")
    (folder / "broken.py").write_text(KERNEL.format("three") + "def (\n")
    for _ in range(2):
        look = looked(folder, cache)
        assert names(look) == ["one", "three", "two"]
        big, bytes_, huge = sorted(look.problems)
        assert big.startswith(f"{folder / 'big.py'} has 1,000,048 bytes, more than the 1,000,000 that are read when its folder is listed: ")
        assert bytes_.startswith(f"{folder / 'bytes.py'} isn't text that Python can read: ")
        assert huge.startswith(f"{folder / 'huge.py'} has 4,000,001 bytes, more than the 4,000,000 ")


def test_a_look_ends_in_time_and_the_next_one_goes_on(folder: Path, cache: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def monotonic() -> float:
        nonlocal now
        now += 1.0
        return now

    monkeypatch.setattr(census.time, "monotonic", monotonic)
    looks = Census(str(folder), cache, deepest=9)
    assert looks.look(look_s=-1.0) == Look({}, truncated=True)
    look = looks.look(look_s=2.5)  # about.py and one.py
    assert (names(look), look.truncated) == (["one"], True)
    assert read == ["about.py", "one.py"]
    look = looks.look(look_s=100.0)
    assert (names(look), look.truncated) == (["one", "two"], False)
    assert read == ["about.py", "one.py", "two.py"]


def test_so_many_files_and_no_more(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "MOST_FILES", 2)
    look = looked(folder, cache)
    assert (names(look), look.truncated) == (["one"], True)
    monkeypatch.setattr(census, "MOST_FILES", 4)
    look = looked(folder, cache)
    assert (names(look), look.truncated) == (["one", "two"], False)

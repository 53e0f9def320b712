"""Nothing runs in a folder that nobody trusted."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from kernelband.cli.failure import run_and_exit
from kernelband.cli.trust import trust, untrust
from kernelband.errors import UsageError
from kernelband.lsp.trust import Trust, default_path, put, read


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The list, where the command line and the server look for it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = default_path()
    assert path.is_relative_to(tmp_path)
    return path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / "inner" / "deep").mkdir(parents=True)
    return tmp_path / "work"


def test_nothing_is_trusted_at_first(path: Path, work: Path) -> None:
    assert not Trust().allows(str(work / "k.py"))
    assert f"`kernelband trust {work}`" in Trust().refusal(str(work / "k.py"))
    assert not path.exists()


def test_the_nearest_listed_folder_decides(path: Path, work: Path) -> None:
    server = Trust()
    put(path, str(work), trusted=True)
    assert server.allows(str(work))
    assert server.allows(str(work / "inner" / "deep" / "k.py"))
    assert not server.allows(str(work.parent / "work-too" / "k.py"))
    put(path, str(work / "inner"), trusted=False)
    assert server.allows(str(work / "k.py"))
    assert not server.allows(str(work / "inner" / "deep" / "k.py"))
    put(path, str(work / "inner" / "deep"), trusted=True)
    assert server.allows(str(work / "inner" / "deep" / "k.py"))
    assert read(path).folders == {str(work): True, str(work / "inner"): False, str(work / "inner" / "deep"): True}
    put(path, str(work), trusted=False)
    assert not server.allows(str(work / "k.py"))
    assert server.allows(str(work / "inner" / "deep" / "k.py"))


def test_the_list_takes_away_what_an_editor_trusts_around_it(path: Path, work: Path) -> None:
    server = Trust()
    server.say(str(work), trusted=True)
    put(path, str(work / "vendor"), trusted=False)
    assert server.allows(str(work / "k.py"))
    assert not server.allows(str(work / "vendor" / "deep" / "k.py"))
    server.say(str(work / "vendor"), trusted=True)  # of that very folder: the newer word
    assert server.allows(str(work / "vendor" / "k.py"))
    server.say(str(work / "vendor"), trusted=False)
    put(path, str(work / "vendor" / "mine"), trusted=True)
    assert not server.allows(str(work / "vendor" / "mine" / "k.py")), "the list gives nothing that the editor refuses"


def test_links_are_followed(path: Path, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (work / "link").symlink_to(outside)
    (tmp_path / "way").symlink_to(work)
    put(path, str(tmp_path / "way"), trusted=True)
    assert list(read(path).folders) == [str(work)]
    assert Trust().allows(str(work / "k.py"))
    assert not Trust().allows(str(work / "link" / "k.py"))


def test_the_editor_s_word_comes_first(path: Path, work: Path) -> None:
    put(path, str(work / "inner"), trusted=True)
    server = Trust()
    server.say(str(work), trusted=False)
    assert not server.allows(str(work / "inner" / "k.py"))
    server.say(str(work), trusted=True)
    assert server.allows(str(work / "k.py"))
    server.say(str(work / "inner"), trusted=False)
    assert not server.allows(str(work / "inner" / "k.py"))
    assert not Trust().allows(str(work / "k.py"))  # it is the word of that session


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"folders": ["/"]}', '{"folders": {"/": 1}}', '{"folders": {"w": true}}', "[" * 10**5, "\0\udcff"]
)
def test_a_list_that_can_t_be_read_trusts_nothing_and_says_so(path: Path, work: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = path.read_bytes()
    server = Trust()
    assert not server.allows("/")
    sentence = server.refusal(str(work / "k.py"))
    assert f"{path}, can't be used" in sentence
    with pytest.raises(UsageError, match="can't be used"):
        put(path, str(work), trusted=True)
    assert path.read_bytes() == before
    server.say(str(work), trusted=True)
    assert server.refusal(str(work / "k.py")) == sentence  # a person may have taken that away with the list
    server.say(str(work), trusted=False)
    assert "isn't trusted" in server.refusal(str(work / "k.py"))


def test_it_is_the_user_s_own_and_replaced_as_a_whole(path: Path, work: Path) -> None:
    put(path, str(work), trusted=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = path.stat().st_ino
    put(path, str(work / "inner"), trusted=True)
    assert path.stat().st_ino != first
    assert os.listdir(path.parent) == ["trust.json"]
    assert json.loads(path.read_text()) == {"folders": {str(work): True, str(work / "inner"): True}}


def test_a_list_that_can_t_be_written_is_said(tmp_path: Path, work: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"can't be (written|used)"):
        put(tmp_path / "file" / "trust.json", str(work), trusted=True)


def run(capsys: pytest.CaptureFixture[str], command: object, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        run_and_exit(command, arguments)  # pyright: ignore[reportArgumentType]
    said = capsys.readouterr()
    assert isinstance(end.value.code, int)
    return end.value.code, said.out, said.err


def test_the_commands(path: Path, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, trust)
    assert (code, err) == (0, "")
    assert "`kernelband trust DIR`" in out
    code, out, err = run(capsys, trust, str(work / "inner" / ".."))
    assert (code, err) == (0, "")
    assert f"Trusted: {work}, " in out
    assert run(capsys, untrust, str(work / "inner")) == (0, f"Not trusted: {work / 'inner'}.\n", "")
    run(capsys, trust, str(work / "inner" / "deep"))
    assert run(capsys, trust)[1] == f"{work}\n{work / 'inner'}  (not trusted)\n{work / 'inner' / 'deep'}\n"
    _, still = run(capsys, untrust, str(work))[1].splitlines()
    assert str(work / "inner" / "deep") in still
    code, out, err = run(capsys, trust, str(work / "gone"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{work / 'gone'} is no folder" in err
    assert read(path).folders == {str(work): False, str(work / "inner"): False, str(work / "inner" / "deep"): True}
    path.write_text("?")
    code, out, err = run(capsys, trust)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "so nothing is trusted" in err

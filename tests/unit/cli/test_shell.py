"""The shell around the commands: help, lazy loading, exit codes, one sentence for every error."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kernelband.cli import COMMANDS, app
from kernelband.cli.failure import run_and_exit
from kernelband.cli.target import Target, parse_overlays, parse_variant
from kernelband.errors import ExecutorFault, HardwareError, HistoryError, SourceError, UsageError, WorkerError, WorkloadError


def ends(command: click.Command, *arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        run_and_exit(command, arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def raising(error: BaseException) -> click.Command:
    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def command(as_json: bool) -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("A."), 2),
        (SourceError("A."), 3),
        (WorkloadError("A."), 4),
        (WorkerError("A."), 5),
        (ExecutorFault("A.", fault="timeout"), 5),
        (HardwareError("A."), 6),
        (HistoryError("A."), 7),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes_are_the_documented_ones(error: BaseException, code: int) -> None:
    assert ends(raising(error)) == code
    text = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"| {code} |" in text or f"| `{code}` |" in text


def test_the_sentence_and_under_it_the_programs_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    ends(raising(WorkloadError("The entry fails.", detail="line 1\nline 2")), "--json")
    out, err = capsys.readouterr()
    assert err == "The entry fails.\n  line 1\n  line 2\n"
    assert '"event": "error"' in out


def test_a_mistake_of_ours_is_one_sentence_and_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_log_path", lambda _: tmp_path / "log")
    assert ends(raising(ZeroDivisionError("division by zero"))) == 70
    err = capsys.readouterr().err
    assert "Traceback" not in err
    (log,) = (tmp_path / "log").iterdir()
    assert str(log) in err
    assert "ZeroDivisionError" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_help_names_every_command_and_loads_none() -> None:
    code = (
        "import sys\nfrom kernelband.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print('LOADED', *[m for m in sys.modules if m.startswith(('kernelband.', 'rich', 'numpy', 'sklearn', 'sqlite'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=True)
    for name in COMMANDS:
        assert f"  {name}" in done.stdout
    assert set(done.stdout.partition("LOADED")[2].split()) == {
        "kernelband.cli",
        "kernelband.cli.failure",
        "kernelband.cli.output",
        "kernelband.errors",
    }


def test_the_table_of_commands_says_what_they_say_themselves() -> None:
    for name in COMMANDS:
        command = app.get_command(click.Context(app), name)
        assert command is not None
        assert command.help


def test_commands_that_only_read_never_load_the_heavy_parts() -> None:
    code = (
        "import sys, importlib\n"
        "for n in ('kernels', 'history', 'show', 'apply', 'target', 'live', 'optimize'): importlib.import_module('kernelband.cli.' + n)\n"
        "print(*[m for m in ('numpy', 'sklearn', 'openai', 'torch', 'triton', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=True)
    assert done.stdout.strip() == ""


def test_no_such_command() -> None:
    assert ends(app, "optimise") == 2


def test_targets() -> None:
    assert Target.parse("a/b.py::C.k").kernel == "C.k"
    assert Target.parse("b.py").kernel is None
    for bad in ("::k", "b.py::", ""):
        with pytest.raises(UsageError):
            Target.parse(bad)


def test_variants() -> None:
    assert parse_variant("last/3") == ("last", 3)
    for bad in ("last", "last/", "/3", "last/0", "last/x"):
        with pytest.raises(UsageError, match="RUN/VARIANT"):
            parse_variant(bad)


def test_an_overlay_of_a_folder_with_an_equals_sign(tmp_path: Path) -> None:
    (tmp_path / "lr=1").mkdir()
    (tmp_path / "lr=1" / "text").write_text("t")
    file = tmp_path / "a=b" / "k.py"
    assert parse_overlays([f"{file}={tmp_path}/lr=1/text"]) == {str(file): "t"}


def test_an_overlay_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="UTF-8"):
        parse_overlays([f"a.py={tmp_path / 'x'}"])

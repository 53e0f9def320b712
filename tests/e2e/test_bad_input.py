"""Every bad input gets one clear sentence and a documented exit code, and nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cli_world import KERNEL, Done, Home


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    return Home(tmp_path, worker_python)


def refused(home: Home, code: int, *words: str, run: Callable[[], Done]) -> Done:
    before = home.snapshot()
    done = run()
    assert done.code == code, (done.code, done.err, done.out)
    for word in words:
        assert word in done.sentence, done.err
    assert done.sentence.endswith((".", "?", "my own trouble")), done.sentence
    assert "Traceback" not in done.sentence
    assert "kernelband/" not in done.err.replace("kernelband/issues", ""), "no frames of ours"
    assert home.snapshot() == before, "something was written"
    return done


def test_no_such_file(home: Home) -> None:
    refused(home, 3, "There is no file nope.py", run=lambda: home.optimize("nope.py"))


def test_a_folder(home: Home) -> None:
    refused(home, 3, "is a directory", run=lambda: home.optimize("."))


def test_no_kernel_in_it(home: Home) -> None:
    home.file.write_text("print('hello')\n")
    refused(home, 3, "kernel", run=lambda: home.optimize("scale.py"))


def test_no_such_kernel(home: Home) -> None:
    refused(home, 3, "no kernel scale_kernell", "scale_kernel", run=lambda: home.optimize("scale.py::scale_kernell"))


def test_several_and_none_named(home: Home) -> None:
    home.file.write_text(KERNEL + KERNEL.replace("scale", "grow"))
    refused(home, 3, "2 kernels", "scale_kernel, grow_kernel", run=lambda: home.optimize("scale.py"))


def test_syntax_error(home: Home) -> None:
    home.file.write_text(KERNEL.replace("return y", "return ) y"))
    refused(home, 3, "line 17", run=lambda: home.optimize("scale.py"))


def test_no_entry_says_how_to_name_one(home: Home) -> None:
    home.file.write_text(KERNEL.replace("def test_scale", "def use"))
    refused(home, 4, "--entry FILE.py::NAME", run=lambda: home.optimize("scale.py"))


def test_an_entry_that_is_not_there(home: Home) -> None:
    refused(home, 4, "no test_scal ", "Did you mean test_scale", run=lambda: home.optimize("scale.py", "--entry", "test_scal"))
    refused(home, 4, "bench.py", run=lambda: home.optimize("scale.py", "--entry", "bench.py::run"))


def test_the_entry_fails_and_its_own_error_is_shown(home: Home) -> None:
    home.file.write_text(KERNEL.replace("    x = torch.randn", "    raise RuntimeError('my own trouble')\n    x = torch.randn"))
    done = refused(home, 4, "test_scale", run=lambda: home.optimize("scale.py"))
    assert "my own trouble" in done.err


def test_the_entry_never_launches_the_kernel(home: Home) -> None:
    home.file.write_text(KERNEL.replace("scale(x), 2 * x", "x + x, 2 * x"))
    refused(home, 4, "scale_kernel", run=lambda: home.optimize("scale.py"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--trials", "0"), "A budget of 0 trials"),
        (("--seconds", "0"), "A budget of 0 seconds"),
        (("--seconds", "-3"), "A budget of -3 seconds"),
        (("--trials", "many"), "many"),
        (("--policy", "best"), "no policy 'best'"),
        (("--objective", "fame"), "no objective 'fame'"),
    ],
)
def test_budgets_and_options(home: Home, arguments: tuple[str, str], words: str) -> None:
    before = home.snapshot()
    done = home.optimize("scale.py", *arguments)
    assert done.code == 2
    assert words in done.err
    assert home.snapshot() == before


def test_unknown_gpu(home: Home) -> None:
    refused(home, 6, "Unknown GPU 'h1000'", "h100", run=lambda: home.optimize("scale.py", "--gpu", "h1000"))


def test_corrupt_database(home: Home) -> None:
    home.db.parent.mkdir()
    home.db.write_bytes(b"not a database at all " * 500)
    refused(home, 7, "damaged or not a database", "--db", run=lambda: home.optimize("scale.py"))


def test_newer_database(home: Home) -> None:
    from kernelband.history import Store

    Store.write(home.db).close()
    db = sqlite3.connect(home.db)
    db.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('kernelband', '9999_future', 'x')")
    db.commit()
    db.close()
    refused(home, 7, "newer KernelBand", run=lambda: home.optimize("scale.py"))


def test_no_such_run(home: Home) -> None:
    from kernelband.history import Store

    Store.write(home.db).close()
    for arguments in (("show", "abc"), ("apply", "abc/1"), ("history", "--forget", "abc"), ("optimize", "--resume", "abc")):
        refused(home, 7, "no run 'abc'", run=lambda a=arguments: home.run(*a, "--db", str(home.db)))


def test_torch_missing(home: Home) -> None:
    import sys

    refused(home, 5, "has no torch", run=lambda: home.run("optimize", "scale.py", "--db", str(home.db), "--python", sys.executable))


def shadowing(home: Home, text: str) -> str:
    """A Python in which ``text`` runs before anything else."""
    folder = home.work.parent / "shadow"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(text)
    script = home.work.parent / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {home.python} "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_triton_missing(home: Home) -> None:
    python = shadowing(
        home,
        (
            "import sys\n"
            "class No:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name == 'triton': raise ModuleNotFoundError(\"No module named 'triton'\", name='triton')\n"
            "sys.meta_path.insert(0, No())\n"
        ),
    )
    refused(home, 5, "has no triton", run=lambda: home.run("optimize", "scale.py", "--db", str(home.db), "--python", python))


def test_torch_too_old(home: Home) -> None:
    python = shadowing(home, "import sys, types\nold = types.ModuleType('torch')\nold.__version__ = '2.1.0'\nsys.modules['torch'] = old\n")
    refused(home, 5, "2.1", "2.6", run=lambda: home.run("optimize", "scale.py", "--db", str(home.db), "--python", python))


@pytest.mark.parametrize(
    ("worker", "word"), [("cat", "isn't a Python"), ("no-such-program-here", "no program"), ("sh -c 'exit 3'", "isn't a Python")]
)
def test_a_worker_command_that_is_no_python(home: Home, worker: str, word: str) -> None:
    refused(home, 5, word, run=lambda: home.run("optimize", "scale.py", "--db", str(home.db), "--worker", worker))


def test_an_overlay_without_a_file(home: Home) -> None:
    refused(home, 2, "FILE=PATH", run=lambda: home.optimize("scale.py", "--overlay", "scale.py"))
    refused(home, 3, "overlay gone.py", run=lambda: home.optimize("scale.py", "--overlay", "scale.py=gone.py"))


def test_nothing_named(home: Home) -> None:
    refused(home, 2, "No file is named", run=lambda: home.run("optimize"))

"""What the operating system is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kernelband_worker import system


def test_temporary_folders_are_this_users_and_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("kb-one", "kb-two", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "kb-file").write_text("")
    (tmp_path / "kb-link").symlink_to(tmp_path / "other")
    (tmp_path / "kb-gone").symlink_to(tmp_path / "nothing")
    assert {path.name for path in system.temporary_folders("kb-")} == {"kb-one", "kb-two"}
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert list(system.temporary_folders("kb-")) == []


linux = pytest.mark.skipif(not system.LINUX, reason="Linux has it alone")


def printed(program: str, **environment: str) -> list[str]:
    """What a fresh Python prints that knows the worker's package."""
    server = str(Path(system.__file__).parents[1])
    command = [
        sys.executable,
        "-c",
        f"import os, sys, time\nsys.path.insert(0, {server!r})\nfrom kernelband_worker import system\n{program}",
    ]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout.split()


@linux
@pytest.mark.parametrize(("value", "shown"), [("other", "NAME=other"), ("longer than before", "NAME=value"), ("less", "NAME=value")])
def test_the_kernel_shows_a_variable_as_it_was_overwritten(value: str, shown: str) -> None:
    """Also of a fork, and of what is executed there."""
    program = f"print(system.overwrite_variable('NAME', {value!r}), flush=True)\nif os.fork(): os.wait(); sys.exit()\n"
    for then in ("print(open('/proc/self/environ').read().replace('\\0', ' '))", "os.execv('/usr/bin/env', ['env'])"):
        done, *variables = printed(program + then, BEFORE="1", NAME="value", NAMESAKE="2")
        assert done == str(shown != "NAME=value")
        assert {"BEFORE=1", shown, "NAMESAKE=2"} <= set(variables)


@linux
def test_a_variable_that_is_not_where_the_kernel_looks() -> None:
    assert printed("print(system.overwrite_variable('NAME', 'other'))") == ["False"]
    program = (
        "os.environ['NAME'] = 'moved'; print(system.overwrite_variable('NAME', 'other'), flush=True); os.execv('/usr/bin/env', ['env'])"
    )
    done, *variables = printed(program, NAME="value")
    assert done == "False"
    assert "NAME=moved" in variables


@linux
def test_orphans_are_adopted_and_reaped_and_nobody_elses_children() -> None:
    program = """
print(system.adopt_orphans())
read, write = os.pipe()
def ended():
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent, *_ = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        except OSError:  # it has ended between two looks
            continue
        if (state, parent) == ("Z", str(os.getpid())):
            found.add(int(pid))
    return found
if os.fork() == 0:
    if os.fork() == 0:
        os.write(write, b"%d" % os.getpid())
    os._exit(0)
os.wait()
orphan = int(os.read(read, 20))
while ended() != {orphan}:
    time.sleep(0.01)
known = os.fork()
if known == 0:
    os._exit(7)
while ended() != {orphan, known}:
    time.sleep(0.01)
while orphan in ended():
    system.reap_orphans({known})
    if orphan in ended():  # the known one came first, and is reaped by whom it concerns
        break
print(os.waitstatus_to_exitcode(os.waitpid(known, 0)[1]))
system.reap_orphans(set())
print(ended() or "none")
system.reap_orphans(set())
"""
    assert printed(program) == ["True", "7", "none"]

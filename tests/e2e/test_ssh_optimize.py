"""A whole run behind a real sshd, as another user who can't read the workspace, gives the same result as a local one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
import re
import stat
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.e2e import sshd as server
from tests.e2e.cli_world import Done, Home
from tests.e2e.history_facts import Facts, differences, flat, history, stale

pytestmark = [
    pytest.mark.skipif(server.why_not() is not None, reason=server.why_not() or ""),
    pytest.mark.timeout(1200),  # the first test makes both runs
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "layer_norm.py"
TRIALS = 2
Before = dict[str, tuple[Any, ...]]
LIMITS = ("--gpu", "h100", "--trials", str(TRIALS), "--policy", "kernelband")

#: The view of the kernel's input moves here, beside a word of who imports it.
HELPER = '''"""The rows that a norm goes over."""

import os

print("imported", os.getuid(), os.access(__file__, os.R_OK), "end", flush=True)


def as_rows(x):
    return x.reshape(-1, x.shape[-1])
'''
EDITS = (
    ("import triton.language as tl\n", "import triton.language as tl\n\nfrom norm_parts import as_rows\n"),
    ("x.reshape(-1, x.shape[-1])", "as_rows(x)"),
    ("((64, 1000, torch.float32), (32, 2048, torch.float16), (8, 5120, torch.float16))", "((6, 300, torch.float16),)"),
    ("((4096, 4096), (4096, 8192))", "((4096, 4096),)"),
)

#: What may differ between the two databases, and nothing else may.
LEFT_OUT = {
    # The name of a run is drawn at random; it stands in every row.
    **dict.fromkeys(("runs.id", *(f"{t}.run" for t in ("arms", "cases", "facts", "pulls", "texts", "trials", "variants"))), "drawn"),
    # How the worker is reached is what the two runs were asked to do differently.
    "runs.options.worker": "asked",
    # The engine's own process, and moments at which it wrote.
    **dict.fromkeys(("runs.owner", "runs.pid", "runs.process"), "the process"),
    **dict.fromkeys(("runs.created", "runs.heartbeat", "_sqlite_migrations.applied_at", "trials.started"), "a moment"),
    "runs.phase": "what the last heartbeat saw, so a moment too",
    # Seconds of wall time.
    **dict.fromkeys(("runs.seconds_used", "runs.clock", "runs.summary.seconds_per_trial", "runs.summary.background"), "seconds"),
    "runs.summary.seconds_to_checked": "seconds",
    **dict.fromkeys(("cases.facts.replay_s", "facts.facts.seconds", "trials.seconds", "trials.clock"), "seconds"),
    # The worker's private folder has another name in every run.
    "runs.environment.settings.TRITON_CACHE_DIR": "scratch",
}


@frozen
class Run:
    """One ``kernelband optimize``."""

    done: Done
    db: Path

    @property
    def facts(self) -> Facts:
        return history(self.db)

    @property
    def importers(self) -> set[tuple[int, bool]]:
        """User id of the processes that imported the helper, and whether they could have read its file."""
        said: dict[str, str] = defaultdict(str)
        for event in self.done.named("worker_said"):
            said[event["executor"]] += event["text"]
        lines = [line for text in said.values() for line in text.splitlines()]
        words = [line.split() for line in lines if line.startswith("imported ") and line.endswith(" end")]
        return {(int(uid), readable == "True") for _, uid, readable, _ in words}


@pytest.fixture(scope="module")
def box(worker_python: str) -> Iterator[server.Sshd]:
    made = server.Sshd.seeing(worker_python)
    yield made
    made.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Home:
    home = Home(tmp_path_factory.mktemp("ssh"), worker_python)
    home.file.unlink()
    text = EXAMPLE.read_text()
    for before, after in EDITS:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (home.work / "norm.py").write_text(text)
    (home.work / "norm_parts.py").write_text(HELPER)
    home.work.chmod(0o700)
    return home


@pytest.fixture(scope="module")
def over_ssh(box: server.Sshd) -> tuple[str, ...]:
    return ("--worker", " ".join(box.prefix()))


def optimize(home: Home, name: str, *more: str) -> Run:
    db = home.db.parent / f"{name}.db"
    given = ("--seed", "1", "--db", str(db), "--python", home.python, "--json", *more)
    done = home.run("optimize", "norm.py", *LIMITS, *given)
    assert done.code == 0, done.err
    return Run(done, db)


def state(home: Home) -> Before:
    """Everything in workspace and home: a file that came and went shows in its folder's times, which nobody can set back."""
    found: Before = {}
    for top in (home.work, home.home):
        for path in (top, *sorted(top.rglob("*"))):
            s = path.stat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            found[str(path)] = s.st_mode, s.st_uid, s.st_mtime_ns, s.st_ctime_ns, content
    return found


@pytest.fixture(scope="module")
def before(home: Home) -> Before:
    return state(home)


@pytest.fixture(scope="module")
def here(home: Home, before: Before) -> Run:
    return optimize(home, "here")


@pytest.fixture(scope="module")
def there(home: Home, over_ssh: tuple[str, ...], before: Before) -> Run:
    return optimize(home, "there", *over_ssh)


def test_the_two_histories_are_equal(here: Run, there: Run) -> None:
    """Cases, variants, trials, compile facts, forecasts, arms, the log and the end: every column, but for what is named."""
    assert differences(here.facts, there.facts, LEFT_OUT) == []
    assert stale(here.facts, LEFT_OUT) == []


def test_there_was_something_to_compare(here: Run, there: Run) -> None:
    for run in (here, there):
        (started,), (ended,) = run.done.named("run_started"), run.done.named("run_ended")
        assert (started["mode"], ended["state"], ended["counts"]["executed"]) == ("predicted", "finished", TRIALS)
        assert ended["best"] is not None
        tables = {place.partition("[")[0] for place in run.facts}
        assert {"arms", "blobs", "cases", "facts", "pulls", "runs", "texts", "trials", "variants"} <= tables
        variants = [place for place in run.facts if re.fullmatch(r"variants\[\d+\]\.forecast\.tier", place)]
        assert len(variants) == TRIALS
        assert run.facts["trials[0].correctness"] == "interpreted"
        assert {e["tier"] for e in run.done.named("trial_ended")} > {"unclear"}


def test_another_value_over_there_would_be_seen(here: Run, there: Run) -> None:
    """The comparison can fail: in what was made from what, and in how the choices were made."""
    last = {}
    for place in sorted(there.facts):
        last[place.partition("[")[0]] = place
    for place in ("runs[0].seed", "variants[1].parent", "pulls[0].strategy", last["texts"]):
        assert place in there.facts
        (found,) = differences(here.facts, {**there.facts, place: "another"}, LEFT_OUT)
        assert found.startswith(f"{place}:")
    assert differences(here.facts, {**there.facts, "trials[9].reward": 1.0}, LEFT_OUT)


def test_the_program_ran_as_another_user_who_cannot_read_it(home: Home, box: server.Sshd, here: Run, there: Run) -> None:
    uid = pwd.getpwnam(box.user).pw_uid
    assert here.importers == {(os.getuid(), True)}
    assert there.importers == {(uid, False)}
    assert (home.work.stat().st_uid, stat.S_IMODE(home.work.stat().st_mode)) == (os.getuid(), 0o700)
    for path in (home.work / "norm.py", home.work / "norm_parts.py"):
        read = subprocess.run([*box.prefix(), "cat", str(path)], capture_output=True, text=True, timeout=120, check=False)
        assert (read.returncode, read.stdout) == (1, "")
        assert "Permission denied" in read.stderr


def test_nothing_was_written_beside_the_databases(home: Home, before: Before, here: Run, there: Run) -> None:
    assert state(home) == before
    assert {p.name.partition(".")[0] for p in home.db.parent.iterdir()} <= {"here", "there"}


def test_nothing_is_left_over_there(box: server.Sshd, there: Run) -> None:
    uid = pwd.getpwnam(box.user).pw_uid
    end = time.monotonic() + 60
    while (left := owned(uid)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []


def owned(uid: int) -> list[str]:
    """Processes of a user, and what it has in the folder for temporary files."""
    found: list[str] = []
    for path in (*Path("/proc").glob("[0-9]*"), *Path(tempfile.gettempdir()).iterdir()):
        with contextlib.suppress(FileNotFoundError):  # it has just ended
            if path.stat().st_uid == uid:
                found.append(str(path))
    return found


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        # Seconds; the tail of what the program printed names the user.
        (("capture", "norm.py", "--gpu", "h100"), {"cases.replay_s", "seconds", "output"}),
        (("inspect", "norm.py", "--gpu", "h100"), {"facts.seconds"}),
    ],
    ids=["capture", "inspect"],
)
def test_a_look_is_the_same_too(home: Home, before: Before, over_ssh: tuple[str, ...], words: tuple[str, ...], left_out: set[str]) -> None:
    found: list[Facts] = []
    for more in ((), over_ssh):
        done = home.run(*words, "--python", home.python, "--json", *more)
        assert done.code == 0, done.err
        found.append(dict(flat(json.loads(done.out))))
    assert len(found[0]) > 50
    assert differences(found[0], found[1], left_out) == []
    assert stale(found[0], left_out) == []
    assert state(home) == before

"""The registry of live runs. The command line is a small program of the test that prints events."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelband.cli import app
from kernelband.cli.failure import run_and_exit
from kernelband.errors import UsageError
from kernelband.lsp import child
from kernelband.lsp.runs import LiveRun, Request, Runs

PROGRAM = """
import json, os, signal, sys, time
arguments = sys.argv[1:]
# No print: the signal may come in the middle of one, and there can't be another one in it.
def say(event, **values): os.write(1, json.dumps({"event": event, **values}).encode() + b"\\n")
def end(state): say("run_ended", state=state, reason="why", best=None, verified=[], counts={})
def stop(*_): end("interrupted"); sys.exit(130)
signal.signal(signal.SIGTERM, stop)
overlays = [arguments[i + 1] for i, a in enumerate(arguments) if a == "--overlay"]
texts = [[x.partition("=")[0], open(x.partition("=")[2], newline="", encoding="utf-8").read(), x.partition("=")[2]] for x in overlays]
say("run_started", run="", mode="predicted", device="H100", entry="", trials=20, seconds=None)
say("noted", text=json.dumps({"arguments": arguments, "texts": texts, "cwd": os.getcwd(), "path": sys.path[0]}))
if any("wait" in a for a in arguments): time.sleep(250)
if any("fail" in a for a in arguments): print("It broke.", file=sys.stderr); sys.exit(70)
if any("usage" in a for a in arguments): say("error", message="No.", detail="", exit_code=2); sys.exit(2)
end("finished")
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(child, "GRACE_S", 100.0)  # a busy machine lets a program wait for its last words
    return Runs(trusted, (sys.executable, str(program)))


def trusted(path: str) -> str:
    return ""


def request(kernel: str = "k", **more: Any) -> Request:
    return Request("file:///w/k.py", "/w/k.py", kernel, **more)


async def ended(runs: Runs, live: LiveRun) -> LiveRun:
    over = asyncio.Event()
    runs.on_change.append(lambda of: over.set() if of is live and of.ended else None)
    await asyncio.wait_for(over.wait(), 100)
    return live


async def begun(runs: Runs, live: LiveRun) -> None:
    there = asyncio.Event()
    runs.on_change.append(lambda of: there.set() if of is live and of.notes else None)
    await asyncio.wait_for(there.wait(), 100)


def given(live: LiveRun) -> dict[str, Any]:
    return json.loads(live.notes[0])


@pytest.mark.asyncio
async def test_a_run_is_there_at_once_and_ends(runs: Runs, tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    runs.on_change.append(lambda live: told.append((live.id, live.state)))
    live = runs.start(request(trials=20, gpu="h100", python="/venv/bin/python", entry="/w/t.py::test_k", db="/d/h.db"))
    assert len(live.id) == 8
    assert (runs.live, runs.of("/w/k.py", "k"), runs.get(live.id)) == ((live,), live, live)
    await ended(runs, live)
    assert (live.state, live.reason, runs.live) == ("finished", "why", ())
    assert runs.get(live.id) is live
    assert told[-1] == (live.id, "finished")
    assert given(live)["arguments"] == [
        "optimize",
        "--json",
        "/w/k.py::k",
        "--trials=20",
        "--python=/venv/bin/python",
        "--db=/d/h.db",
        "--entry=/w/t.py::test_k",
        "--gpu=h100",
        f"--run-id={live.id}",
    ]
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.asyncio
async def test_the_same_kernel_runs_once_at_a_time(runs: Runs) -> None:
    first = runs.start(request("wait"))
    assert runs.start(request("wait", trials=3)) is first
    other = runs.start(request("k"))
    assert other is not first
    await ended(runs, other)
    await runs.cancel(first.id)
    again = runs.start(request("wait"))
    assert again is not first
    assert again.id != first.id
    await runs.cancel_all()
    assert again.state == "interrupted"


@pytest.mark.asyncio
async def test_unsaved_texts_travel_in_private_files_that_go_away(runs: Runs, tmp_path: Path) -> None:
    live = runs.start(request("wait", text="own\r\n¼\n", overlays={"/w/other.py": "other", "/w/k.py": "older"}))
    await begun(runs, live)
    found = given(live)
    assert {file: text for file, text, _ in found["texts"]} == {"/w/k.py": "own\r\n¼\n", "/w/other.py": "other"}
    for _, _, path in found["texts"]:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(Path(path).parent).st_mode) == 0o700
    await runs.cancel(live.id)
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.asyncio
async def test_it_starts_in_an_empty_folder_of_its_own(runs: Runs, tmp_path: Path) -> None:
    live = runs.start(request())
    await ended(runs, live)
    assert Path(given(live)["cwd"]).parent == tmp_path / "tmp"  # `python -m` would take a random.py of the workspace for Python's


@pytest.mark.asyncio
async def test_a_text_with_half_a_character_is_the_search_s_to_refuse(runs: Runs) -> None:
    live = runs.start(request(text="x = '\ud800'\n"))
    await ended(runs, live)
    assert live.state == "failed"
    assert "codec can't decode" in live.error  # here the program's own; `kernelband optimize` has a sentence for it


@pytest.mark.asyncio
async def test_nothing_runs_that_is_not_trusted(runs: Runs) -> None:
    asked: list[str] = []

    def refusal(path: str) -> str:
        asked.append(path)
        return "No." if path.startswith("/elsewhere/") else ""

    careful = Runs(refusal)
    for bad in (Request("file:///elsewhere/k.py", "/elsewhere/k.py", "k"), request(entry="/elsewhere/t.py::test_k")):
        with pytest.raises(UsageError, match=r"^No\.$"):
            careful.start(bad)
    assert asked == ["/elsewhere/k.py", "/w/k.py", "/elsewhere/t.py"]
    assert careful.live == ()


@pytest.mark.asyncio
async def test_a_resumed_run_keeps_its_id_and_its_texts(runs: Runs) -> None:
    live = runs.start(request(text="now", resume="0123abcd", trials=30, entry="e", gpu="h100"))
    await ended(runs, live)
    assert live.id == "0123abcd"
    assert given(live)["arguments"] == ["optimize", "--json", "/w/k.py::k", "--trials=30", "--resume=0123abcd"]
    for wrong in ("last", "0123", "0123abcd/3", "0123ABCD", "--help00"):
        with pytest.raises(UsageError, match=wrong):
            runs.start(request(resume=wrong))


@pytest.mark.asyncio
async def test_stopped_in_the_middle(runs: Runs) -> None:
    headlines: list[str] = []
    runs.on_change.append(lambda live: headlines.append(live.headline))
    live = runs.start(request("wait"))
    await begun(runs, live)
    await asyncio.gather(runs.cancel(live.id), runs.cancel(live.id))
    assert (live.state, live.reason) == ("interrupted", "why")
    await asyncio.sleep(0)
    assert "stopping" in headlines
    assert headlines[-1] == "stopped"
    assert (await runs.cancel(live.id)).state == "interrupted"


@pytest.mark.asyncio
async def test_stopped_before_it_began(runs: Runs, tmp_path: Path) -> None:
    live = runs.start(request("wait"))
    await runs.cancel(live.id)
    assert (live.state, live.notes) == ("interrupted", [])
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.asyncio
async def test_a_run_that_is_not_ours_is_not_stopped(runs: Runs) -> None:
    with pytest.raises(UsageError, match="0123abcd"):
        await runs.cancel("0123abcd")


@pytest.mark.asyncio
async def test_a_death_and_an_error_have_their_sentences(runs: Runs) -> None:
    broken, refused = runs.start(request("fail")), runs.start(request("usage"))
    await asyncio.gather(ended(runs, broken), ended(runs, refused))
    assert (broken.state, broken.error) == ("failed", "It broke.")
    assert (refused.state, refused.error) == ("failed", "No.")


@pytest.mark.asyncio
async def test_no_room_for_the_texts_is_said(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "tmp").rmdir()
    live = runs.start(request(text="x"))
    await ended(runs, live)
    assert live.state == "failed"
    assert "can't be written" in live.error


@pytest.mark.asyncio
async def test_a_missing_extra_is_the_command_line_s_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide = "import sys, importlib.util as u; f = u.find_spec; u.find_spec = lambda n, p=None: None if n == 'sklearn' else f(n, p); "
    runs = Runs(trusted, (sys.executable, "-c", hide + "from kernelband.cli import main; main()"))
    (tmp_path / "k.py").write_text("")
    live = runs.start(Request("", str(tmp_path / "k.py"), "k", db=str(tmp_path / "h.db")))
    await ended(runs, live)
    assert live.state == "failed"
    assert "kernelband[search]" in live.error


@pytest.mark.parametrize("given", [["--run-id", "../../x"], ["--run-id", "0123abc"], ["--run-id", "0123abcd", "--resume", "last"]])
def test_an_id_that_can_t_be_a_run_s_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run_and_exit(app, ["optimize", "k.py", *given])
    assert end.value.code == 2
    assert "8 hexadecimal digits" in capsys.readouterr().err


@pytest.mark.asyncio
async def test_everything_is_ended_without_a_loop(runs: Runs, tmp_path: Path) -> None:
    live = runs.start(request("wait", text="x"))
    await begun(runs, live)
    runs.kill_all()
    assert os.listdir(tmp_path / "tmp") == []
    await ended(runs, live)
    assert live.state == "interrupted"

"""Verify an edit, choose entry and device, what a repository may say, and a branch's kernels: by a client of a real server."""

from __future__ import annotations

import asyncio
import subprocess
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor


@pytest.fixture
def home(home: Home) -> Home:
    """In a repository."""
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=home.work, check=True, capture_output=True)
    return home


async def said(ed: Editor, beginning: str) -> str:
    """The message that begins so."""

    async def look() -> str:
        return next((m.message for m in ed.client.messages if m.message.startswith(beginning)), "")

    return await ed.eventually(look, bool)


@pytest.mark.asyncio
async def test_an_edit_is_judged_from_the_editor(home: Home) -> None:
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        nothing = await ed.command("verify", ed.uri, "scale_kernel")
        end = await ed.ended(nothing["run"])
        assert (end.state, "is the same as in HEAD" in end.error) == ("failed", True)
        assert not home.db.exists()
        ed.type("(n, 64)", "(n, 512)")
        ed.type("BLOCK=64", "BLOCK=512")
        action = next(a for a in await ed.actions("tl.store") if a.title == "Verify my edit of scale_kernel")
        assert action.command is not None
        params = types.ExecuteCommandParams(action.command.command, action.command.arguments)
        answer = await ed.client.workspace_execute_command_async(params)
        with pytest.raises(Exception, match="scale_kernel is already being verified"):
            await ed.command("optimize", ed.uri, "scale_kernel")
        end = await ed.ended(answer["run"])
        assert (end.state, end.mode, end.headline) == ("finished", "predicted", "likely faster")
        sentence = "redicted, not measured: your edit of scale_kernel is likely faster than the saved file on NVIDIA H100"
        assert end.reason.startswith(f"p{sentence}")
        assert (await said(ed, f"P{sentence}")).endswith(".")
        await ed.eventually(ed.lenses, lambda found: any("than the original" in t for t in found))
        report = await ed.command("report", ed.uri, "scale_kernel")
        assert report["accepted"] == 1
        assert report["runs"][0]["variants"][0]["author"] == "you"


@pytest.mark.asyncio
async def test_a_verification_that_is_cancelled_leaves_nothing(home: Home) -> None:
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        ed.type("BLOCK=64", "BLOCK=32")
        answer = await ed.command("verify", ed.uri, "scale_kernel")

        async def begun() -> bool:
            return any(c.run == answer["run"] and c.mode for c in ed.changes)

        await ed.eventually(begun, bool)
        await ed.command("cancel", answer["run"])
        assert (await ed.ended(answer["run"])).state == "interrupted"
        assert "Resume" not in await ed.lenses()
        assert (await ed.command("report", ed.uri, "scale_kernel"))["runs"] == []


@pytest.mark.asyncio
async def test_entry_and_device_are_chosen_and_kept(home: Home) -> None:
    (home.work / "test_scale.py").write_text(
        'import torch\nfrom scale import scale\n\n\ndef test_small():\n    scale(torch.randn(64, device="cuda"))\n'
    )
    settings: dict[str, Any] = {"trials": 1, "workers": {"env": home.python}}
    async with editor(home, PROFILES[0], **settings) as ed:
        ed.open()
        ed.picks = 1
        assert await ed.command("chooseEntry", ed.uri, "scale_kernel") == {
            "entry": f"{home.work / 'test_scale.py'}::test_small",
            "changed": True,
        }
        ed.picks = None  # a person who closes the question
        assert (await ed.command("chooseEntry", ed.uri, "scale_kernel"))["changed"] is False
        with pytest.raises(
            Exception, match=r"There is no entry nothing for scale_kernel. Those that were found: bench \(scale.py\), test_small"
        ):
            await ed.command("chooseEntry", ed.uri, "scale_kernel", "nothing")
        with pytest.raises(Exception, match="elsewhere can't be chosen"):
            await ed.command("chooseDevice", ed.uri, "elsewhere")
        ed.picks = 3
        chosen = await ed.command("chooseDevice", ed.uri)
        assert chosen == {"worker": None, "gpu": "h200", "changed": True}
    async with editor(home, PROFILES[0], **settings) as ed:  # after a restart
        ed.open()
        run = (await ed.command("optimize", ed.uri, "scale_kernel"))["run"]
        end = await ed.ended(run)
        assert end.state == "finished", end
        assert "H200" in end.device
        with_worker = await ed.command("chooseDevice", ed.uri, "env")
        assert with_worker == {"worker": "env", "gpu": None, "changed": True}
        log = home.run("history", "--db", str(home.db), "--json").out
        assert "test_small" in log
    async with editor(home, PROFILES[0], trials=1) as ed:  # the settings name that worker no longer
        ed.open()
        assert (await ed.command("chooseDevice", ed.uri))["worker"] is None
        assert await ed.command("chooseEntry", ed.uri, "scale_kernel", "") == {"entry": None, "changed": True}


@pytest.mark.asyncio
async def test_what_a_repository_may_not_say_is_shown_at_its_line(home: Home) -> None:
    file = home.work / "pyproject.toml"
    uri = file.as_uri()
    text = '[tool.kernelband]\ntrials = 1\nworker = "ssh evil"  # 𝔼\n'
    file.write_text(text)
    async with editor(home, PROFILES[0]) as ed:
        ed.open()

        async def shown() -> list[tuple[int, int, str]]:
            return [(d.range.start.line, d.range.end.character, d.message) for d in ed.client.diagnostics.get(uri, [])]

        answer = await ed.command("optimize", ed.uri, "scale_kernel")  # tells of it although it isn't open
        ((line, width, message),) = await ed.eventually(shown, bool)
        assert (line, width) == (2, 25)  # in UTF-16
        assert "can't set worker, because only the user may say which command is run" in message
        end = await ed.ended(answer["run"])
        assert (end.state, end.trials) == ("finished", 1)
        ed.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "toml", 1, text + "trials = 3\n")))
        await ed.eventually(shown, lambda found: bool(found) and "isn't TOML" in found[0][2])
        whole = types.TextDocumentContentChangeWholeDocument("[tool.kernelband]\ntrials = 3\n")
        ed.client.text_document_did_change(types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, uri), [whole]))
        await ed.eventually(shown, lambda found: found == [])


@pytest.mark.asyncio
async def test_the_kernels_of_a_branch_one_after_the_other(home: Home) -> None:
    other = home.work / "other.py"
    other.write_text(
        home.file.read_text().replace("scale_kernel", "other_kernel").replace("def scale(", "def other(").replace("scale(t", "other(t")
    )
    async with editor(home, PROFILES[0], trials=1) as ed:
        ed.open()
        ed.type("BLOCK=64", "BLOCK=128")
        with pytest.raises(Exception, match="There is no commit nowhere"):
            await ed.command("optimizeChanged", "nowhere")
        found = await ed.command("optimizeChanged", "HEAD")
        assert found == {"kernels": [{"uri": other.as_uri(), "kernel": "other_kernel"}, {"uri": ed.uri, "kernel": "scale_kernel"}]}

        async def ended() -> list[str]:
            return [c.kernel for c in ed.changes if c.state == "finished"]

        assert await ed.eventually(ended, lambda k: len(set(k)) == 2) == ["other_kernel", "scale_kernel"]
        begun = [c.kernel for c in ed.changes]
        assert begun == sorted(begun)  # never side by side
        runs = {c.run for c in ed.changes}
        assert len((await ed.command("optimizeChanged", "HEAD"))["kernels"]) == 2
        for run in (await ed.command("stop_all"))["runs"]:
            await ed.ended(run)
        await asyncio.sleep(1)
        assert len({c.run for c in ed.changes} - runs) <= 1  # the other one never begins
        assert all(c.state != "running" for c in {c.run: c for c in ed.changes}.values())
        other.unlink()
        ed.type("BLOCK=128", "BLOCK=64")
        assert await ed.command("optimizeChanged", "HEAD") == {"kernels": []}

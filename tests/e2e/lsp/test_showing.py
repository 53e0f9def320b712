"""Documents of a variant in an editor: by address, as files, or as paths in the answer; and the command that finds it again."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from kernelband.history import Store, runs
from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, RefusedHere, editor

CONTENT = "workspace/textDocumentContent"


def asks_for_content(params: types.InitializeParams) -> None:
    """As a client of LSP 3.18."""
    assert params.capabilities.workspace is not None
    params.capabilities.workspace.text_document_content = types.TextDocumentContentClientCapabilities(dynamic_registration=True)


def shows_nothing(params: types.InitializeParams) -> None:
    """As a client without ``window/showDocument``, nor a mode for Markdown."""
    window, text = params.capabilities.window, params.capabilities.text_document
    assert window is not None
    window.show_document = None
    assert text is not None
    text.hover = types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText])


def opens_itself(params: types.InitializeParams) -> None:
    """As our own extension."""
    params.capabilities.experimental = {"kernelband": {"opens": True}}


def path_of(uri: str) -> Path:
    assert uri.startswith("file:///")
    return Path(unquote(urlsplit(uri).path))


async def offered(ed: Editor) -> tuple[dict[str, types.Command], str, int]:
    """The actions' commands by their first word, with run and variant."""
    ed.open()
    await ed.eventually(ed.lenses, lambda found: len(found) == 2)
    actions = await ed.actions("tl.store")
    assert ": likely faster on" in actions[0].title
    assert actions[-1].title == "More actions for scale_kernel…"
    assert len(actions) <= 5
    items = (await ed.command("more", ed.uri, "scale_kernel"))["items"]
    commands = [(i["title"], types.Command(**i)) for i in items if "the best variant" in i["title"]]
    found = {title.partition(" ")[0]: command for title, command in commands if "patch" not in title}
    command = found["Explain"]
    assert command.arguments is not None
    return found, command.arguments[2], command.arguments[3]


async def call(ed: Editor, command: types.Command) -> Any:
    return await ed.execute(command)


@pytest.mark.asyncio
async def test_a_client_that_asks_for_content_gets_addresses(searched: Home, tmp_path: Path) -> None:
    async with editor(searched, PROFILES[0], adapt=asks_for_content, env={"TMPDIR": str(tmp_path)}) as ed:
        actions, run, number = await offered(ed)

        async def content(uri: str) -> str:
            return (await ed.client.workspace_text_document_content_async(types.TextDocumentContentParams(uri))).text

        assert [r.method for r in ed.registered].count(CONTENT) == 1
        answer = await call(ed, actions["Compare"])
        assert answer["shown"]
        assert [d.uri for d in ed.client.shown_documents] == [answer["uri"]] == [f"kernelband:/{run}/{number}/patch.diff"]
        assert answer["path"] is None
        assert await content(answer["original"]) == searched.file.read_text()
        variant = await content(answer["variant"])
        assert variant != searched.file.read_text()
        patch = await content(answer["uri"])
        assert patch == searched.run("apply", f"{run}/{number}", "--diff", "--db", str(searched.db)).out
        answer = await call(ed, actions["Explain"])
        report = await content(answer["uri"])
        assert f"# Variant {number} of scale_kernel: predicted, not measured" in report
        assert patch in report
        with pytest.raises(Exception, match="isn't a KernelBand document"):
            await content("kernelband:/x")
        with pytest.raises(Exception, match="has no variant 77"):
            await content(f"kernelband:/{run}/77/report.md")
        assert not list(tmp_path.iterdir())  # nothing was written


@pytest.mark.asyncio
async def test_content_is_registered_where_the_client_takes_it(searched: Home) -> None:
    for adapt, wanted in ((asks_for_content, True), (lambda _: None, False)):
        async with editor(searched, PROFILES[0], adapt=adapt) as ed:
            ed.open()
            scheme = "kernelband:" if wanted else "file:"
            found = await ed.eventually(_explained(ed), lambda answer, scheme=scheme: answer["uri"].startswith(scheme))
            assert (found["path"] is None) is wanted
            assert (CONTENT in [r.method for r in ed.registered]) is wanted


def _explained(ed: Editor) -> Any:
    return lambda: ed.command("explain", ed.uri, "scale_kernel", "last", 1)


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_other_clients_get_read_only_files_that_go_with_the_server(searched: Home, profile: str, tmp_path: Path) -> None:
    async with editor(searched, profile, env={"TMPDIR": str(tmp_path)}) as ed:
        actions, _, _ = await offered(ed)
        answer = await call(ed, actions["Compare"])
        assert [d.uri for d in ed.client.shown_documents] == [answer["uri"]]
        files = [path_of(answer["original"]), path_of(answer["variant"]), Path(answer["path"])]
        assert files[0].read_text() == searched.file.read_text() != files[1].read_text()
        assert (files[0].suffix, files[1].suffix, files[2].name) == (".py", ".py", "patch.diff")
        for file in files:
            assert stat.S_IMODE(file.stat().st_mode) == 0o444
            assert file.is_relative_to(tmp_path)
        assert stat.S_IMODE(files[2].parents[2].stat().st_mode) == 0o700
        again = await call(ed, actions["Compare"])  # a file that is there already
        assert again["path"] == answer["path"]
    assert not list(tmp_path.iterdir())


@pytest.mark.asyncio
async def test_without_a_way_to_show_the_answer_says_where(searched: Home) -> None:
    for adapt in (shows_nothing, opens_itself):
        async with editor(searched, PROFILES[1], adapt=adapt) as ed:
            answer = await ed.command("explain", ed.uri, "scale_kernel", "last", 1)
            assert (answer["shown"], ed.client.shown_documents) == (False, [])
            assert Path(answer["path"]).read_text().startswith("# Variant 1 of")
            said = [m.message for m in ed.client.messages]
            assert said == ([f"To see it, open {answer['path']}"] if adapt is shows_nothing else [])


@pytest.mark.asyncio
async def test_a_client_is_told_in_a_way_that_it_shows(searched: Home) -> None:
    """Pictures and a request's error only to ours: others show base64 and an error's raw form. Markdown only who has a mode for it."""
    pictures = {opens_itself: True, shows_nothing: False, lambda _: None: False}
    for adapt, wanted in pictures.items():
        async with editor(searched, PROFILES[1], adapt=adapt) as ed:
            ed.open()
            await ed.eventually(ed.lenses, lambda found: len(found) == 2)
            hover = await ed.hover("scale_kernel(x, y")
            assert "nothing is measured" in hover
            assert ("data:image" in hover) is wanted
            assert ("`" in hover) is (adapt is not shows_nothing)
            with pytest.raises(JsonRpcException if wanted else RefusedHere, match="There is no run 'ffffffff'"):
                await ed.command("explain", ed.uri, "scale_kernel", "ffffffff", 1)
            assert len(ed.client.messages) == (0 if wanted else 1)


@pytest.mark.asyncio
async def test_what_cannot_be_shown_is_said(searched: Home) -> None:
    async with editor(searched, PROFILES[0]) as ed:
        for name in ("compare", "explain", "reproduce"):
            with pytest.raises(Exception, match="has no variant 99"):
                await ed.command(name, ed.uri, "scale_kernel", "last", 99)
            with pytest.raises(Exception, match="There is no run 'ffffffff'"):
                await ed.command(name, ed.uri, "scale_kernel", "ffffffff", 1)
        with pytest.raises(Exception, match="Variant 0 of run"):
            await ed.command("explain", ed.uri, "scale_kernel", "last", 0)


@pytest.mark.asyncio
async def test_the_command_repeats_the_search(searched: Home, tmp_path: Path) -> None:
    """What it gives is run in a shell, on a copy of the database."""
    async with editor(searched, PROFILES[0]) as ed:
        actions, run, number = await offered(ed)
        answer = await call(ed, actions["Copy"])
        script = Path(answer["path"]).read_text()
    assert answer["command"] in script
    assert answer["notes"] == []
    copy = tmp_path / "history.db"
    shutil.copy(searched.db, copy)
    assert str(searched.db) in script
    script = script.replace(str(searched.db), str(copy))
    environment = {**searched.environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-e"], input=script, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"Variant {number} of run {run}" in done.stdout
    assert "diff --git a/" in done.stdout
    with Store.read(copy) as store:
        new, old = runs.listing(store)
        assert (old.id, new.state) == (run, "finished")
        for what in ("kernel_key", "path", "kernel", "seed", "trials_budget", "seconds_budget", "policy", "objective", "options", "mode"):
            assert getattr(new, what) == getattr(old, what), what
        sql = "SELECT strategy, move, key FROM variants WHERE run = ? ORDER BY id"
        assert store.rows(sql, [new.id]) == store.rows(sql, [run])  # the same seed, the same choices


@pytest.mark.asyncio
async def test_a_text_that_is_another_now_is_said_beside_the_command(searched: Home) -> None:
    before = searched.file.read_text()
    try:
        searched.file.write_text(before + "\n# more\n")
        async with editor(searched, PROFILES[0]) as ed:
            answer = await ed.command("reproduce", ed.uri, "scale_kernel", "last", 1)
            (note,) = answer["notes"]
            assert "it has changed since run" in note
            assert f"# {note}" in Path(answer["path"]).read_text()
    finally:
        searched.file.write_text(before)


@pytest.mark.asyncio
async def test_a_client_that_does_not_show_it_after_all_gets_the_answer(searched: Home) -> None:
    def fails(_: types.ShowDocumentParams) -> types.ShowDocumentResult:
        raise RuntimeError("no window")

    answered = asyncio.Event()

    async def late(_: types.ShowDocumentParams) -> types.ShowDocumentResult:
        await answered.wait()
        return types.ShowDocumentResult(success=True)

    async with editor(searched, PROFILES[0]) as ed:
        for handler in (lambda _: types.ShowDocumentResult(success=False), fails, late):
            ed.client.protocol.fm.features[types.WINDOW_SHOW_DOCUMENT] = handler
            answer = await asyncio.wait_for(ed.command("explain", ed.uri, "scale_kernel", "last", 1), 120)
            assert answer["shown"] is False
            assert Path(answer["path"]).exists()
        answered.set()
        assert await ed.command("report", ed.uri, "scale_kernel")  # what came too late hurts nobody

"""What a click on each lens does, in a client with no view of its own; and what is said when there is nothing to do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from kernelband.history import Store, runs
from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.lsp.test_showing import path_of
from tests.e2e.searched import Searched


def git(home: Home, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *words], cwd=home.work, check=True, capture_output=True)


async def clicked(ed: Editor, number: int = 0) -> Any:
    """What the lens of that place does."""
    found = await ed.client.text_document_code_lens_async(types.CodeLensParams(ed.document))
    assert found is not None
    command = found[number].command
    assert command is not None
    return await ed.execute(command)


def last_shown(ed: Editor) -> str:
    return path_of(ed.client.shown_documents[-1].uri).read_text()


@pytest.mark.asyncio
async def test_lenses_begin_a_run_show_it_and_stop_it(home: Home) -> None:
    async with editor(home, PROFILES[1], trials=20) as ed:
        ed.open()
        with pytest.raises(Exception, match="optimize it first"):
            await ed.command("choose", ed.uri, "scale_kernel")
        await ed.command("report", ed.uri, "scale_kernel")
        assert "Nothing is known" in last_shown(ed)
        run = (await clicked(ed))["run"]
        await ed.eventually(ed.lenses, lambda found: found[0] not in ("Optimize", "starting"))
        await clicked(ed)  # how it goes
        assert f"Run {run} is running" in last_shown(ed)
        assert (await ed.lenses())[1] == "Cancel"
        await clicked(ed, 1)
        assert (await ed.ended(run)).state == "interrupted"


@pytest.mark.asyncio
async def test_every_lens_of_what_was_found_answers_a_click(searched: Home, one_search: Searched) -> None:
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        git(searched, *words)
    async with editor(searched, PROFILES[1], trials=1) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely faster on"))
        await ed.command("report", ed.uri, "scale_kernel")
        assert f"## Run {one_search.run}, " in last_shown(ed)
        assert re.search(r"- variant 1: .+: likely faster on NVIDIA H100 SXM \(predicted\)", last_shown(ed))
        ed.picks = 0
        assert (await clicked(ed))["applied"]
        await ed.eventually(ed.lenses, lambda found: "than the original" in found[0])
        answer = await clicked(ed)  # the variant that is in
        assert answer["applied"] is False
        assert Path(answer["path"]).read_text() == last_shown(ed)
        assert "# Variant " in last_shown(ed)

        # changed, saved and committed: there is nothing unsaved, and nothing since the commit, to verify against
        ed.type("2.0 * tl.load", "tl.load")
        ed.type("mask=i < n), mask", "mask=i < n) * 2.0, mask")
        searched.file.write_text(ed.text)
        git(searched, "commit", "-qam", "second")
        item = types.TextDocumentItem((searched.work / "notes.py").as_uri(), types.LanguageKind.Python, 1, "# unsaved, and no part of it\n")
        ed.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await ed.eventually(ed.lenses, lambda found: found[0] == "changed since it was optimized · verify again")
        end = await ed.ended((await clicked(ed))["run"])
        assert end.state == "finished", end.error


@pytest.mark.asyncio
async def test_the_patch_is_shown(searched: Home) -> None:
    async with editor(searched, PROFILES[1]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        ed.picks = "Copy the patch of the best variant"
        await ed.command("more", ed.uri, "scale_kernel")
        answer = last_shown(ed)
        assert answer.startswith("diff --git a/scale.py b/scale.py")


@pytest.mark.asyncio
async def test_the_setting_takes_the_lenses_away_at_once(home: Home) -> None:
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        assert await ed.lenses() == ["Optimize"]
        for wanted, lenses in ((False, []), (True, ["Optimize"])):
            ed.redraw.clear()
            ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"kernelband": {"lens": wanted}}))
            await ed.eventually(_is_set(ed), bool)
            assert await ed.lenses() == lenses


def _is_set(ed: Editor) -> Any:
    async def look() -> bool:
        return ed.redraw.is_set()

    return look


@pytest.mark.asyncio
async def test_a_copy_offers_no_resume(searched: Home, one_search: Searched) -> None:
    """Its run would be refused: it is about the other file."""
    with Store.write(searched.db) as store:  # as one that was stopped after three trials of nine
        runs.update(store, one_search.run, state="interrupted", reason="stopped by you", trials_budget=9)
    async with editor(searched, PROFILES[0]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: "Resume" in found)
        copy = searched.work / "copy.py"
        copy.write_text(ed.text)
        ed.uri = copy.as_uri()
        ed.open(ed.text)
        found = await ed.eventually(ed.lenses, lambda found: len(found) > 1)  # it knows what was found
        assert "Resume" not in found
        assert not [a for a in await ed.actions("tl.store") if a.title.startswith("Resume")]
        more = await ed.command("more", ed.uri, "scale_kernel")
        assert not [item for item in more["items"] if item["title"].startswith("Resume")]

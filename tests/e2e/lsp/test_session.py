"""The whole way of one kernel in an editor: open, optimize, take, stale, take back, and the same after a restart."""

from __future__ import annotations

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp import matrix
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.searched import Searched

#: The names of docs/editors.md.
CLIENTS = dict(zip(PROFILES, ("VS Code's capabilities", "Neovim 0.11's capabilities"), strict=True))


async def hinted(ed: Editor) -> bool:
    """Whether the client was sent the kernel's hints: neither profile asks for them."""

    async def sent() -> int:
        return len(ed.client.diagnostics.get(ed.uri, ()))

    return bool(await ed.eventually(sent, bool))


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_the_journey_of_a_kernel(home: Home, profile: str) -> None:
    async with editor(home, profile, trials=2) as ed:
        ed.open()
        assert await ed.lenses() == ["Optimize"]
        assert "Nothing is measured or predicted" in await ed.hover("scale_kernel")
        first = await ed.command("optimize", ed.uri, "scale_kernel")
        again = await ed.command("optimize", ed.uri, "scale_kernel")
        assert again == first  # the live one
        assert (await ed.lenses())[1] == "Cancel"
        end = await ed.ended(first["run"])
        assert (end.state, end.mode) == ("finished", "predicted"), end
        (lens, _) = await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        assert lens.startswith("likely faster on")
        assert "×" not in lens  # nothing was measured
        assert "predicted" in await ed.hover("scale_kernel")
        best = (await ed.actions("tl.store"))[0]
        assert ": likely faster on" in best.title
        assert best.command is not None
        assert (await ed.client.code_action_resolve_async(best)).command == best.command  # as VS Code does before it runs one
        seen = {"code lens": True, "hover": True, "hints as diagnostics": await hinted(ed), "variants as code actions": True}
        seen["progress of a run"] = any(ed.client.progress_reports.values())
        before = ed.text
        ed.type("2.0 *", "3.0 *")
        with pytest.raises(Exception, match=r"scale_kernel in scale\.py has changed since run"):
            await ed.execute(best.command)
        assert ed.edits == []
        seen["a variant refused over a text that has changed"] = True
        ed.type("3.0 *", "2.0 *")
        assert ed.text == before
        done = await ed.execute(best.command)
        assert done == {"applied": True}
        seen["a variant put in as one step to undo"] = len(ed.edits) == 1
        assert len(ed.edits) == 1  # one undo step
        assert ed.text != before
        assert ed.text.startswith(before[: before.index("def scale(x)")][:40])
        after = ed.text
        taken = await ed.eventually(ed.lenses, lambda found: any("over" in t or "than the original" in t for t in found))
        ed.home.file.write_text(ed.text)
    async with editor(home, profile) as ed:  # after a restart
        ed.open()
        assert await ed.eventually(ed.lenses, lambda found: found == taken)
        revert = next(a for a in await ed.actions("tl.store") if a.title.startswith("Revert"))
        assert revert.command is not None
        await ed.execute(revert.command)
        assert ed.text == before != after
        seen["history after a restart"] = True
    matrix.compare(CLIENTS[profile], seen)


@pytest.mark.asyncio
async def test_the_first_lenses_of_a_client_that_cannot_be_told_of_others(searched: Home) -> None:
    async with editor(searched, "neovim@v0.11") as ed:
        ed.open()
        (first, again) = await ed.lenses()
        assert first.startswith("likely faster on")
        assert again == "Optimize"


@pytest.mark.asyncio
async def test_text_that_has_changed_gets_no_variant(searched: Home, one_search: Searched) -> None:
    run = one_search.run
    async with editor(searched, PROFILES[0]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        ed.type("import torch", "# a line above moves it\nimport torch")
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely"))
        number = (await ed.actions("tl.store"))[0].command.arguments[3]
        ed.type("2.0 * tl.load", "3.0 * tl.load")
        text = ed.text
        with pytest.raises(Exception, match=r"scale_kernel in scale\.py has changed since run"):
            await ed.command("apply", ed.uri, "scale_kernel", run, number)
        assert ed.text == text
        assert ed.edits == []
        await ed.eventually(ed.lenses, lambda found: "verify again" in found[0])
        ed.type("3.0 * tl.load", "2.0 * tl.load")
        ed.refuses = "the file is read-only"
        with pytest.raises(Exception, match="did not accept the edit: the file is read-only"):
            await ed.command("apply", ed.uri, "scale_kernel", run, number)


@pytest.mark.asyncio
async def test_nothing_runs_in_a_folder_that_is_not_trusted(home: Home) -> None:
    canary = home.work / "ran"
    home.file.write_text(f"open({str(canary)!r}, 'w').close()\n" + home.file.read_text())
    async with editor(home, PROFILES[0], trusted=False, trials=1) as ed:
        ed.open()
        assert await ed.lenses() == ["Optimize"]
        assert await ed.hover("scale_kernel")
        assert await ed.actions("tl.store")
        with pytest.raises(Exception, match="isn't trusted"):
            await ed.command("optimize", ed.uri, "scale_kernel")
        assert not canary.exists()
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": home.work.as_uri(), "trusted": True}]})
        await ed.command("optimize", ed.uri, "scale_kernel")

        async def ran() -> bool:
            return canary.exists()

        await ed.eventually(ran, bool)  # so that this test can fail
        await ed.command("stop_all")


@pytest.mark.asyncio
async def test_what_cannot_be_asked(home: Home) -> None:
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        with pytest.raises(Exception, match="There is no variant of scale_kernel to apply"):
            await ed.command("choose", ed.uri, "scale_kernel")
        with pytest.raises(Exception, match="optimize takes these arguments: str, str"):
            await ed.command("optimize", ed.uri)
        with pytest.raises(Exception, match="was not started here"):
            await ed.command("cancel", "00000000")


@pytest.mark.asyncio
async def test_what_else_can_be_asked(searched: Home, one_search: Searched) -> None:
    run = one_search.run
    async with editor(searched, PROFILES[0]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: "3 variants" in found[0])
        report = await ed.command("report", ed.uri, "scale_kernel")
        assert [r["id"] for r in report["runs"]] == [run]
        assert all(v["ratio"] is None for v in report["runs"][0]["variants"])
        best = report["runs"][0]["variants"][0]["number"]
        patch = await ed.command("patch", ed.uri, "scale_kernel", run, best)
        assert patch.startswith("diff --git a/scale.py b/scale.py")
        ed.picks = 1  # the second
        assert await ed.command("choose", ed.uri, "scale_kernel") == {"applied": True}
        assert ed.edits
        await ed.command("reject", run, best)
        report = await ed.eventually(
            lambda: ed.command("report", ed.uri, "scale_kernel"), lambda r: any(v["decision"] == "reject" for v in r["runs"][0]["variants"])
        )
        assert report["accepted"]


@pytest.mark.asyncio
async def test_cancel_from_the_progress_and_resume(home: Home) -> None:
    async with editor(home, PROFILES[0], trials=20) as ed:
        ed.open()
        answer = await ed.command("optimize", ed.uri, "scale_kernel")

        async def begun() -> list[str]:
            return [c.headline for c in ed.changes if c.trials]

        await ed.eventually(begun, bool)
        (token,) = ed.client.progress_reports
        assert any("/20" in str(getattr(r, "message", "")) for r in ed.client.progress_reports[token])
        ed.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        end = await ed.ended(answer["run"])
        assert end.state == "interrupted"
        assert "Resume" in await ed.eventually(ed.lenses, lambda found: "Resume" in found)
        again = await ed.command("resume", ed.uri, "scale_kernel", answer["run"])
        assert again == answer
        await ed.command("stop_all")


@pytest.mark.asyncio
async def test_variants_can_be_taken_while_another_search_goes_on(searched: Home, one_search: Searched) -> None:
    run = one_search.run
    async with editor(searched, PROFILES[0], trials=1) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        other = (await ed.command("optimize", ed.uri, "scale_kernel"))["run"]
        cancel, best, *_ = await ed.actions("tl.store")
        assert cancel.title.startswith("Cancel the optimization of scale_kernel")
        assert best.command is not None
        assert best.command.arguments[2] == run
        before = ed.text
        await ed.execute(best.command)
        assert ed.text != before
        assert (await ed.ended(other)).state == "finished"  # of the text that it began with

"""The whole way of one kernel in an editor: open, optimize, take, stale, take back, and the same after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture
from tests.e2e.lsp.editor import PROFILES, Editor, editor

#: Of a size that a GPU could do faster: 64 elements a program are too few.
BENCH = """

def bench():
    scale(torch.randn(1 << 24, device="cuda"))
"""


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:  # noqa: F811  # the fixture
    home = Home(tmp_path, worker_python)
    text = home.file.read_text()
    home.file.write_text(text[: text.index("\n\ndef test_scale")] + BENCH)
    return home


async def optimized(ed: Editor) -> str:
    answer = await ed.command("optimize", ed.uri, "scale_kernel")
    end = await ed.ended(answer["run"])
    assert end.state == "finished", end
    return answer["run"]


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_the_journey_of_a_kernel(home: Home, profile: str) -> None:
    async with editor(home, profile, trials=3) as ed:
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
        assert best.title.startswith("Likely faster on")
        assert best.command is not None
        before = ed.text
        done = await ed.client.workspace_execute_command_async(types.ExecuteCommandParams(best.command.command, best.command.arguments))
        assert done == {"applied": True}
        assert len(ed.edits) == 1  # one undo step
        assert ed.text != before
        assert ed.text.startswith(before[: before.index("def scale(x)")][:40])
        taken = await ed.eventually(ed.lenses, lambda found: any("over" in t or "than the original" in t for t in found))
        ed.home.file.write_text(ed.text)
    async with editor(home, profile) as ed:  # after a restart
        ed.open()
        assert await ed.eventually(ed.lenses, lambda found: found == taken)


@pytest.mark.asyncio
async def test_text_that_has_changed_gets_no_variant(home: Home) -> None:
    async with editor(home, PROFILES[0], trials=3) as ed:
        ed.open()
        run = await optimized(ed)
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
        with pytest.raises(Exception, match="did not take the variant: the file is read-only"):
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
        await optimized(ed)
        assert canary.exists()  # so that this test can fail

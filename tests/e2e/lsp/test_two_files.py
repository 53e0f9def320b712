"""A kernel whose host function and entry are in other files: what is said of it follows edits there, and what runs is asked about there."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.searched import BENCH


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    """scale.py holds the kernel, ops.py its host function, bench/bench_scale.py what runs it."""
    home = Home(tmp_path, worker_python)
    text = home.file.read_text()
    host = text[text.index("def scale(x)") : text.index("\n\ndef test_scale")]
    home.file.write_text(text[: text.index("\n\ndef scale(x)")])
    (home.work / "ops.py").write_text(f"import torch\nimport triton\nfrom scale import scale_kernel\n\n\n{host}")
    (home.work / "bench").mkdir()
    path = "sys.path.insert(0, str(Path(__file__).parents[1]))"
    start = f"import sys\nfrom pathlib import Path\n\nimport torch\n\n{path}\nfrom ops import scale\n"
    (home.work / "bench" / "bench_scale.py").write_text(start + BENCH)
    return home


class Other:
    """Another open document of the same client."""

    def __init__(self, ed: Editor, path: Path) -> None:
        self.ed, self.uri, self.version, self.text = ed, path.as_uri(), 1, path.read_text()
        ed.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri, "python", 1, self.text)))

    def put(self, text: str) -> None:
        self.version, self.text = self.version + 1, text
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.ed.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))


@pytest.mark.asyncio
async def test_an_edit_of_the_host_s_file_is_seen_at_the_kernel(home: Home) -> None:
    async with editor(home, PROFILES[0], entry="bench/bench_scale.py::bench") as ed:  # relative to the open folder
        ed.open()
        ops = Other(ed, home.work / "ops.py")
        before = ops.text
        ops.put(before.replace("(n, 64)", "(n, 512)").replace("BLOCK=64", "BLOCK=512"))
        end = await ed.ended((await ed.command("verify", ed.uri, "scale_kernel"))["run"])
        assert (end.state, end.headline) == ("finished", "likely faster"), end.error
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely faster than the original on "))
        assert "This is variant 1 of run" in await ed.hover("scale_kernel")
        ops.put(ops.text.replace("BLOCK=512", "BLOCK=512, num_warps=8"))
        await ed.eventually(ed.lenses, lambda found: found[0] == "changed since it was optimized · verify again")
        ops.put(before)
        await ed.eventually(ed.lenses, lambda found: "changed" not in found[0] and "than the original" not in found[0])


@pytest.mark.asyncio
async def test_a_file_that_git_changes_is_seen_although_it_is_not_open(home: Home) -> None:
    file = home.work / "ops.py"
    before = file.read_text()

    async def changed(ed: Editor, text: str) -> None:
        file.write_text(text)
        event = types.FileEvent(file.as_uri(), types.FileChangeType.Changed)
        ed.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async with editor(home, PROFILES[0], entry="bench/bench_scale.py::bench", trials=1) as ed:
        ed.open()

        async def watches() -> list[types.Registration]:
            return [r for r in ed.registered if r.method == "workspace/didChangeWatchedFiles"]

        (watch,) = await ed.eventually(watches, bool)
        assert watch.register_options == {"watchers": [{"globPattern": "**/*.{py,ipynb}"}]}
        end = await ed.ended((await ed.command("optimize", ed.uri, "scale_kernel"))["run"])
        assert end.state == "finished", end.error
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely faster on "))
        await changed(ed, before.replace("BLOCK=64", "BLOCK=32"))
        await ed.eventually(ed.lenses, lambda found: found[0] == "changed since it was optimized · verify again")
        await changed(ed, before)
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely faster on "))

        # what was edited in the editor, and closed without a save, is as it is on the disk
        ops = Other(ed, file)
        ops.put(before.replace("BLOCK=64", "BLOCK=32"))
        await ed.eventually(ed.lenses, lambda found: found[0] == "changed since it was optimized · verify again")
        ed.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(ops.uri)))
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely faster on "))


@pytest.mark.asyncio
async def test_an_edit_is_called_what_it_was_found_to_be(home: Home) -> None:
    async with editor(home, PROFILES[0], entry="bench/bench_scale.py::bench") as ed:
        ed.open()
        ops = Other(ed, home.work / "ops.py")
        ops.put(ops.text.replace("(n, 64)", "(n, 16)").replace("BLOCK=64", "BLOCK=16"))
        end = await ed.ended((await ed.command("verify", ed.uri, "scale_kernel"))["run"])
        assert (end.state, end.headline) == ("finished", "likely slower"), end.error
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("likely slower than the original on H100 · predicted "))


@pytest.mark.asyncio
async def test_an_entry_of_a_folder_that_is_not_trusted_is_not_found_either(home: Home) -> None:
    canary = home.work / "canary"
    bench = home.work / "bench" / "bench_scale.py"
    bench.write_text(bench.read_text() + f'\n\nopen({str(canary)!r}, "w").close()\n')
    async with editor(home, PROFILES[0], trials=1) as ed:
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": (home.work / "bench").as_uri(), "trusted": False}]})
        ed.open()
        end = await ed.ended((await ed.command("optimize", ed.uri, "scale_kernel"))["run"])
        assert end.state == "failed"
        assert "No test or bench function was found in a trusted folder" in end.error
        assert not canary.exists()
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": (home.work / "bench").as_uri(), "trusted": True}]})
        end = await ed.ended((await ed.command("optimize", ed.uri, "scale_kernel"))["run"])
        assert end.state == "finished", end.error
        assert canary.exists()  # so the test can fail

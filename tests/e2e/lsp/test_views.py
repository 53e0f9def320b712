"""What a side bar and a report are made of, from a real search in a real server: kernels, runs, report, environment; and deleting."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from kernelband.history import Store, runs, trials
from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.lsp.notebook import Notebook, announce
from tests.e2e.searched import Searched

OTHER = """import triton
import triton.language as tl


class Ops:
    @triton.jit
    def other_kernel(x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + i, 0.0, mask=i < n)
"""

#: A search that waits before it begins, and before its second trial, while the files of those names are there.
HELD = """import os, time
def wait(name):
    while os.path.exists(os.path.join({folder!r}, name)):
        time.sleep(0.05)
wait("begin")
from kernelband.search import execution
execute = execution.Execution.execute
def held(self, *arguments):
    if len(self.s.trials) == 1:
        wait("second")
    return execute(self, *arguments)
execution.Execution.execute = held
from kernelband.cli import main
main()
"""


@pytest.fixture
def home(home: Home) -> Home:
    """With other files."""
    (home.work / "pkg").mkdir()
    (home.work / "pkg" / "other.py").write_text(OTHER)
    (home.work / "plain.py").write_text("x = 1\n")
    return home


def shapes(value: Any) -> Any:
    """Names and kinds, to compare with what is documented."""
    if isinstance(value, dict):
        return {k: shapes(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shapes(value[0])] if value else []
    return type(value).__name__


async def kernels(ed: Editor) -> dict[str, dict[str, Any]]:
    answer = await ed.command("kernels")
    assert answer["truncated"] is False
    return {k["kernel"]: k for k in answer["kernels"]}


@pytest.mark.asyncio
async def test_a_search_as_the_views_see_it(home: Home) -> None:
    held = home.work.parent / "held"
    held.mkdir()
    (held / "search.py").write_text(HELD.format(folder=str(held)))
    for name in ("begin", "second"):
        (held / name).touch()
    async with editor(home, PROFILES[0], trials=4, search=[sys.executable, str(held / "search.py")]) as ed:
        # nothing is open yet, and nothing known
        found = await kernels(ed)
        assert found["scale_kernel"] == {
            "uri": ed.uri,
            "kernel": "scale_kernel",
            "line": 6,
            "told": "",
            "live": None,
            "latest": None,
            "variants": 0,
        }
        assert (found["Ops.other_kernel"]["uri"], found["Ops.other_kernel"]["line"]) == ((home.work / "pkg" / "other.py").as_uri(), 6)
        assert await ed.command("runs", 10) == {"runs": []}
        ed.open("# an unsaved line\n" + home.file.read_text())
        assert (await kernels(ed))["scale_kernel"]["line"] == 7
        ed.type("# an unsaved line\n", "")

        run = (await ed.command("optimize", ed.uri, "scale_kernel"))["run"]
        (first,) = (await ed.command("runs", 10))["runs"]
        assert (first["run"], first["state"], first["uri"], first["kernel"]) == (run, "running", ed.uri, "scale_kernel")
        assert abs(first["created"] - time.time()) < 60
        assert (await kernels(ed))["scale_kernel"]["live"] == run
        with pytest.raises(Exception, match=f"Run {run} is still running: cancel it first"):
            await ed.command("forget", run)

        with pytest.raises(Exception, match=f"Run {run} has recorded nothing yet: try again in a moment."):
            await ed.command("runReport", run)
        (held / "begin").unlink()

        async def tried() -> bool:
            return any(c.run == run and c.trials for c in ed.changes)

        await ed.eventually(tried, bool)
        going = await ed.command("runReport", run)
        assert going["run"]["state"] == "running"
        assert (going["live"]["run"], going["live"]["state"]) == (run, "running")
        assert going["counts"]["proposed"] >= going["counts"]["executed"] >= 1
        assert going["arms"]["reason"].endswith("this run goes on.")
        (held / "second").unlink()
        assert (await ed.ended(run)).state == "finished"

        report = await ed.command("runReport", run)
        assert report["live"] is None
        _is_whole(report, home, run)
        stored = json.loads(home.run("show", run, "--json", "--db", str(home.db)).out)["report"]
        assert stored == {k: v for k, v in report.items() if k != "live"}, "the command line says the same"

        (past,) = (await ed.command("runs", 10))["runs"]
        assert (past["state"], past["mode"], past["path"]) == ("finished", "predicted", str(home.file))
        assert past["headline"] == "likely faster"
        assert {v["ratio"] for v in past["variants"]} == {None}
        assert [v["number"] for v in past["variants"]] == [v["number"] for v in report["variants"]]
        assert {v["title"] for v in past["variants"]} == {v["title"] for v in report["variants"]}
        told = (await ed.eventually(ed.lenses, lambda lenses: len(lenses) == 2))[0]
        known = (await kernels(ed))["scale_kernel"]
        assert (known["told"], known["latest"], known["live"]) == (told, run, None)
        assert f"· {known['variants']} variant" in told
        await ed.command("reject", run, past["variants"][0]["number"])
        decided = await ed.eventually(lambda: ed.command("runs", 10), lambda r: r["runs"][0]["variants"][0]["decision"] is not None)
        assert decided["runs"][0]["variants"][0]["decision"] == "reject"
        assert (await ed.command("runReport", run))["variants"][0]["decision"] == "reject"
        with Store.read(home.db) as store:
            for v in past["variants"]:
                trials.decide(store, run, v["number"], "reject")
        listed = (await ed.command("runs", 10))["runs"][0]["variants"]
        assert {v["decision"] for v in listed} == {"reject"}
        await ed.eventually(ed.lenses, lambda lenses: lenses[0] == "nothing likely faster")  # what a view has read the lenses hear of, too
        with Store.read(home.db) as store:
            trials.decide(store, run, past["variants"][0]["number"], "accept")
        ed.client.text_document_did_close(types.DidCloseTextDocumentParams(ed.document))
        closed = (await kernels(ed))["scale_kernel"]
        assert (closed["line"], closed["latest"]) == (6, run)
        assert closed["told"].startswith("likely faster on"), "of the file's text, as of an open document's"
        ed.open()

        assert await ed.command("forget", run) == {"run": run}
        assert await ed.command("runs", 10) == {"runs": []}
        assert await ed.eventually(ed.lenses, lambda lenses: lenses == ["Optimize"])
        assert (await ed.command("report", ed.uri, "scale_kernel"))["live"] is None
        for command in ("forget", "runReport"):
            with pytest.raises(Exception, match=f"There is no run '?{run}"):
                await ed.command(command, run)
        with Store.read(home.db) as store:
            assert runs.listing(store) == ()


def _is_whole(report: dict[str, Any], home: Home, run: str) -> None:
    """A report of a predicted run of four trials."""
    about = report["run"]
    assert (about["id"], about["kernel"], about["path"]) == (run, "scale_kernel", str(home.file))
    assert (about["mode"], about["state"], about["trials_budget"], about["gpu"]) == ("predicted", "finished", 4, "")
    assert about["versions"]["triton"]
    assert about["cost"]["model"] is None
    assert 0 < about["cost"]["seconds_s"] < 300
    assert [s["trial"] for s in report["course"]] == [1, 2, 3, 4]
    assert report["course"][-1]["seconds_s"] <= about["cost"]["seconds_s"] + 0.5
    assert report["counts"]["executed"] == 4
    assert report["counts"]["proposed"] >= 4
    assert {a["strategy"] for a in report["arms"]["rows"]} >= {"tiling", "fusion", "pipeline"}
    members = sorted(m for c in report["clusters"]["rows"] for m in c["members"])
    right = sorted(v["number"] for v in report["variants"] if v["state"] == "checked")
    assert members == [0, *right]
    assert report["roofline"]["device"]["source"] == "data sheet"
    points = {p["variant"]: p for p in report["roofline"]["points"]}
    assert points[0]["intensity_flop_per_byte"] > 0
    assert points[0]["limited_by"]
    assert {p["how"] for p in points.values()} == {"predicted"}
    for v in report["variants"]:
        assert (v["ratio"], v["figures"]) == (None, None)
        assert v["patch"].startswith("diff --git a/scale.py b/scale.py")
        assert v["title"]
        assert v["explanation"][0]["text"].startswith("What: ")
        assert v["number"] in points
    assert not re.search(r"\d\.\d\d[x×]", json.dumps([report["variants"], report["arms"], report["course"]]))
    assert next(c["name"] for c in report["cases"] if c["role"] == "time").startswith("x[")


@pytest.mark.asyncio
async def test_the_environment_is_asked_once_and_only_where_code_may_run(home: Home) -> None:
    async with editor(home, PROFILES[0], trusted=False) as ed:
        with pytest.raises(Exception, match="isn't trusted"):
            await ed.command("environment", ed.uri)
        assert ed.client.messages == [], "a view asks by itself: its sentence is no message"
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": home.work.as_uri(), "trusted": True}]})
        first = await ed.command("environment", ed.uri)
        assert shapes(first) == {
            "worker": "NoneType",
            "python": "str",
            "asked_s": "float",
            "checks": [{"name": "str", "state": "str", "found": "str", "means": "str"}],
            "works": dict.fromkeys(("read", "history", "inspect", "predict", "measure"), "bool"),
        }
        assert first["python"] == home.python
        assert first["works"] == {"read": True, "history": True, "inspect": True, "predict": True, "measure": False}
        checks = {c["name"]: c for c in first["checks"]}
        assert {"kernelband", "search", "worker", "torch", "triton", "history"} <= checks.keys()
        assert str(home.db) in checks["history"]["found"]
        assert await ed.command("environment", ed.uri) == await ed.command("environment", home.work.as_uri()) == first, "from memory"
        again = await ed.command("environment", ed.uri, True)
        assert again["asked_s"] > first["asked_s"]


@pytest.mark.asyncio
async def test_runs_of_other_folders_are_not_listed(searched: Home, one_search: Searched, tmp_path: Path) -> None:
    home, run = searched, one_search.run
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        (elsewhere := tmp_path / "elsewhere").mkdir()
        old, new = (types.WorkspaceFolder(f.as_uri(), f.name) for f in (home.work, elsewhere))
        change = types.DidChangeWorkspaceFoldersParams
        ed.client.workspace_did_change_workspace_folders(change(types.WorkspaceFoldersChangeEvent([new], [old])))
        assert [r["run"] for r in (await ed.command("runs", 10))["runs"]] == [run], "of an open file, wherever it is"
        ed.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(ed.uri)))
        assert await ed.command("runs", 10) == {"runs": []}
        ed.client.workspace_did_change_workspace_folders(change(types.WorkspaceFoldersChangeEvent([], [new])))
        assert [r["run"] for r in (await ed.command("runs", 10))["runs"]] == [run], "of all, where no folder is open"
        ed.open()
        assert list(await kernels(ed)) == ["scale_kernel"], "the open document's"


@pytest.mark.asyncio
async def test_a_kernel_of_a_notebook_is_in_its_cell(home: Home) -> None:
    path = home.work / "demo.ipynb"
    cell = "%matplotlib inline\n@triton.jit\ndef in_a_cell(x, n, BLOCK: tl.constexpr):\n    tl.store(x, 0.0)\n"
    sources = ["import triton\nimport triton.language as tl\n", cell]
    plain = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**plain, "id": f"c{i}", "source": s} for i, s in enumerate(sources)]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    async with editor(home, PROFILES[0], adapt=announce) as ed:
        book = Notebook(ed, path)
        book.open()
        known = await ed.eventually(lambda: kernels(ed), lambda found: "in_a_cell" in found)
        assert (known["in_a_cell"]["uri"], known["in_a_cell"]["line"]) == (book.uris[1], 2)

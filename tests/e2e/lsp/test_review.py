"""A variant reviewed in a client: hunks by steps, of which the first are a variant as well; another part of it is a version of its own."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.history import Store, runs, trials
from kernelband.history.records import FinalRow
from kernelband.lsp.features.review import lines_of
from kernelband.source import Cells, between, patch_to_json
from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.lsp.notebook import Notebook, announce
from tests.unit.history.rows import run_row, trial_row, variant_row

RUN = "0123abcd"
FIGURE = "1.84"  # of the final that is written here: nothing was timed
LAUNCH = ("(n, 64),)](x, y, n, BLOCK=64)", "(n, 512),)](x, y, n, BLOCK=512)")
LOAD = (
    "    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)",
    "    a = tl.load(x + i, mask=i < n)\n    tl.store(y + i, 2.0 * a, mask=i < n)",
)
SAYS = (
    "The load has a name · 512 elements in each program: 1.84× (1.80 to 1.88) on NVIDIA H200 SXM, 2 cases",
    "1.84× on H200",
    ["The load has a name", "512 elements in each program"],
)


def edited(text: str, *edits: tuple[str, str]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    for old, new in edits:
        assert old in text
        text = text.replace(old, new.replace("\n", end), 1)
    return text


def keep(db: Path, path: str, text: str, other: str) -> None:
    """A history in which a run of that text has verified the other one."""
    row = run_row(RUN, path=path, kernel="scale_kernel", state="finished", device="NVIDIA H200 SXM")
    row = evolve(row, environment={"triton": "3.6.0", "torch": "2.9", "gpus": [{"name": "NVIDIA H200 SXM"}]}, created=time.time() - 60)
    step = evolve(variant_row(RUN, 2), patch=patch_to_json(between({path: text}, {path: edited(text, LOAD)})), what="The load has a name.")
    made = patch_to_json(between({path: text}, {path: other}))
    variant = evolve(variant_row(RUN, 1), parent=2, key="k1", patch=made, what="512 elements in each program.")
    final = FinalRow(RUN, 1, True, float(FIGURE), 1.8, 1.88, {"cases": [{"case": "1"}, {"case": "2"}]}, seconds=1.0)
    db.parent.mkdir(exist_ok=True)
    with Store.write(db) as store:
        runs.begin(store, row, {path: text})
        trials.write(
            store,
            trials.Rows(variants=(variant_row(RUN, 0), step, variant), trials=(trial_row(RUN, 2), trial_row(RUN, 1)), finals=(final,)),
        )


def put(text: str, file: dict[str, Any], steps: set[int]) -> str:
    """The text with the hunks of some steps, as a client puts them in."""
    lines = lines_of(text)
    for hunk in reversed(file["hunks"]):
        if hunk["step"] in steps:
            lines[hunk["start"] : hunk["end"]] = hunk["lines"]
    return ("\r\n" if "\r\n" in text else "\n").join(lines)


def plain(answer: Any) -> Any:
    """JSON as it came over the wire, whatever the client makes of it."""
    return json.loads(json.dumps(answer, default=lambda o: o._asdict() if hasattr(o, "_asdict") else vars(o)))


async def review(ed: Editor, uri: str = "") -> Any:
    return plain(await ed.command("review", uri or ed.uri, "scale_kernel", RUN, 1))


async def surfaces(ed: Editor) -> str:
    """All that is said of the kernel."""
    titles = [a.title for a in await ed.actions("tl.store")]
    launch, constant = await ed.hover("scale_kernel[("), await ed.hover("BLOCK: tl")
    shown = [d.message for d in ed.client.diagnostics.get(ed.uri, ())]
    return "\n".join([*await ed.lenses(), await ed.hover("scale_kernel"), launch, constant, *titles, *shown])


@pytest.mark.asyncio
async def test_a_part_of_a_variant_is_a_version_of_its_own(home: Home) -> None:
    before = home.file.read_text()
    keep(home.db, str(home.file), before, edited(before, LAUNCH, LOAD))
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: found[0] == "1.84× on H200 · 1 variant")
        found = await review(ed)
        assert (found["title"], found["short"], [g["label"] for g in found["steps"]]) == SAYS
        assert (found["uri"], found["kernel"], found["run"], found["variant"]) == (ed.uri, "scale_kernel", RUN, 1)
        assert found["why"].startswith("Measured faster")
        (file,) = found["files"]
        assert (file["uri"], file["version"]) == (ed.uri, ed.version)
        assert ed.edits == []  # nothing is put in
        whole, part = put(before, file, {0, 1}), put(before, file, {1})
        assert whole == edited(before, LAUNCH, LOAD)
        assert part == edited(before, LAUNCH)

        ed.put_text(whole)
        await ed.eventually(ed.lenses, lambda found: found[0].startswith("1.84× over original on H200"))
        assert FIGURE in await surfaces(ed)
        with pytest.raises(Exception, match=r"scale_kernel in scale\.py has changed since run") as refused:
            await review(ed)
        with pytest.raises(Exception, match=r"scale_kernel in scale\.py has changed since run") as other:
            await ed.command("apply", ed.uri, "scale_kernel", RUN, 1)
        assert str(refused.value) == str(other.value)

        ed.put_text(part)
        await ed.eventually(ed.lenses, lambda found: FIGURE not in found[0])
        said = await surfaces(ed)
        assert not [word for word in (FIGURE, "×", "1.80", "Revert", "Accepted", "512 elements", "Verified on") if word in said], said
        assert "Nothing is known about this version; what follows is about the original of that run." in said
        assert (await ed.actions("tl.store"))[0].title == "Verify this version of scale_kernel"
        report = plain(await ed.command("report", ed.uri, "scale_kernel"))
        assert (report["accepted"], bool(report["stale"])) == (None, True)

        home.file.write_text(part)  # as autosave does: what is saved is no baseline
        with pytest.raises(Exception, match="A base is an object of texts by the addresses"):
            await ed.command("verify", ed.uri, "scale_kernel", {ed.uri: 1})
        end = await ed.ended((await ed.command("verify", ed.uri, "scale_kernel", {ed.uri: before}))["run"])
        assert (end.state, end.mode, end.headline) == ("finished", "predicted", "likely faster"), end
        assert end.reason.startswith(
            "predicted, not measured: your edit of scale_kernel is likely faster than the text before the edit on NVIDIA H100"
        )
        (told, *_) = await ed.eventually(ed.lenses, lambda found: "than the original" in found[0])
        assert told.startswith("likely faster than the original on H100 · predicted ")
        with Store.read(home.db) as store:
            assert runs.base_texts(store, end.run) == {str(home.file): before}
        await ed.command("accept", RUN, 1)
        with Store.read(home.db) as store:
            assert [d.decision for d in trials.decisions(store, RUN)] == ["accept"]
        with pytest.raises(Exception, match="There is no variant 7 of run 0123abcd, so nothing was decided"):
            await ed.command("accept", RUN, 7)


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_lines_are_those_of_the_document(home: Home, profile: str) -> None:
    """Carriage returns, no newline at the end, characters outside the first plane, lines above that the run hasn't seen."""
    before = edited(home.file.read_text(), ("import torch\n", "import torch  # 𝔼\f\n")).rstrip("\n").replace("\n", "\r\n")
    home.file.write_bytes(before.encode())
    keep(home.db, str(home.file), before, edited(before, LAUNCH, LOAD))
    async with editor(home, profile) as ed:
        now = "# mine\r\n\r\n" + before + "\r\n# mine \u2028 too"
        ed.open(now)
        found = await review(ed)
        (file,) = found["files"]
        assert put(now, file, {0, 1}) == edited(now, LAUNCH, LOAD)
        starts = [now[: now.index(old)].count("\n") for old, _ in (LOAD, LAUNCH)]
        assert [(h["start"], h["end"], len(h["lines"])) for h in file["hunks"]] == [
            (starts[0], starts[0] + 1, 2),
            (starts[1], starts[1] + 1, 1),
        ]
        answer = await ed.command("apply", ed.uri, "scale_kernel", RUN, 1)
        assert answer == {"applied": True}
        assert ed.text == edited(now, LAUNCH, LOAD)


@pytest.mark.asyncio
async def test_in_a_notebook_the_documents_are_cells(home: Home) -> None:
    head, tail = home.file.read_text().split("\n\n\ndef scale(x)", 1)
    cells = ["%time 0\n" + head, "def scale(x)" + tail]
    path = home.work / "scale.ipynb"
    saved = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": c.splitlines(keepends=True)} for c in cells
    ]
    path.write_text(json.dumps({"cells": saved, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}))
    before = Cells(cells).text
    keep(home.db, str(path), before, edited(before, LAUNCH, LOAD))
    async with editor(home, PROFILES[0], adapt=announce) as ed:
        nb = Notebook(ed, path)
        nb.open()
        found = await review(ed, nb.uris[1])
        assert (found["uri"], [g["label"] for g in found["steps"]]) == (nb.uri, SAYS[2])
        assert [(f["uri"], f["version"]) for f in found["files"]] == list(zip(nb.uris, nb.versions, strict=True))
        after = [put(text, file, {0, 1}) for text, file in zip(nb.texts, found["files"], strict=True)]
        assert after == [edited(cells[0], LOAD), edited(cells[1], LAUNCH)]
        nb.type(1, *LAUNCH)
        nb.save()
        base = dict(zip(nb.uris, cells, strict=True))
        end = await ed.ended((await ed.command("verify", nb.uri, "scale_kernel", base))["run"])
        assert (end.state, end.headline) == ("finished", "likely faster"), end
        assert "than the text before the edit" in end.reason

"""What was verified of a kernel is said by every surface alike: verified, then predicted, then the text commented and formatted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, editor
from tests.golden.histories import CHANGES, HISTORIES, KERNEL, TEXT, write

TITLE, FIGURE = "BLOCK 64→512 · The load has a name", "1.84"


@pytest.mark.asyncio
async def test_every_surface_says_the_same_verified_figure(tmp_path: Path) -> None:
    home = Home(tmp_path, sys.executable)
    home.file.parent.mkdir(parents=True, exist_ok=True)
    write(home.db, "ran", HISTORIES["then_predicted"], {str(home.file): TEXT})
    for change in ("same", "commented", "formatted"):
        home.file.write_text(CHANGES[change].text(TEXT))
        async with editor(home, PROFILES[0]) as ed:
            ed.open()
            lenses = await ed.eventually(ed.lenses, lambda found: any("variants" in lens for lens in found))
            listed = await ed.command("kernels")
            report = await ed.command("report", ed.uri, KERNEL)
            runs = {run["id"]: run for run in report["runs"]}
            told = next((v for v in runs[report["told"]]["variants"] if v["verified"]), None)
            assert told is not None, (change, lenses, report)
            shown = await ed.command("runReport", report["told"])
            best = next(v for v in shown["variants"] if v["number"] == shown["run"]["best"])
            said = {
                "lens": next(lens for lens in lenses if "variants" in lens),
                "lightbulb": (await ed.actions("tl.store"))[0].title,
                "side bar": next(k["told"] for k in listed["kernels"] if k["kernel"] == KERNEL),
                "hover": await ed.hover(KERNEL),
                "pick": f"{told['title']} {told['ratio']}",
                "report": Path((await ed.command("explain", ed.uri, KERNEL, report["told"], best["number"]))["path"]).read_text(),
                "history": home.run("history", "--db", str(home.db)).out,
                "history as JSON": str(json.loads(home.run("show", "ran0", "--json", "--db", str(home.db)).out)["finals"][0]["score"]),
                "show": home.run("show", "ran0", "--db", str(home.db)).out,
            }
        for surface, words in said.items():
            assert FIGURE in words, (change, surface, words)
        assert (best["title"], best["state"]) == (TITLE, "verified")
        for surface in ("lightbulb", "hover", "pick", "show"):
            assert TITLE in " ".join(said[surface].split()), (change, surface, said[surface])

"""A notebook: lens, hover, a variant put in and taken back, cell by cell."""

from __future__ import annotations

import json
import re

from tests.e2e.cli_world import Home
from tests.e2e.workbench.conftest import Lend, ready_to_search
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.test_first_minute import LIKELY

CELL = ".notebook-editor .cell .monaco-editor"


def notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": c.splitlines(keepends=True)} for c in cells
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


def cells(screen: Screen) -> list[str]:
    """The texts on screen."""
    found: list[str] = screen.page.evaluate(
        """selector => [...document.querySelectorAll(selector)].map(cell => [...cell.querySelectorAll('.view-line')]
        .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
        .map(line => line.textContent.replaceAll('\\u00a0', ' ')).join('\\n'))""",
        CELL,
    )
    return found


def test_a_variant_over_cells(lend: Lend, home: Home) -> None:
    text = home.file.read_text()
    kernel = text.index("@triton.jit")
    host = text.index("def scale(x)")
    book = home.work / "scale.ipynb"
    book.write_text(
        notebook(text[:kernel].strip() + "\n", "%matplotlib inline\n", text[kernel:host].strip() + "\n", text[host:].strip() + "\n")
    )
    done = home.run("optimize", f"{book}::scale_kernel", "--trials", "2", "--python", home.python, "--gpu", "h100", "--db", str(home.db))
    assert done.code == 0, done.err
    workbench = ready_to_search(lend(), home)
    screen = workbench.start(home.work)
    # Before the workbench knows which extensions there are it takes a notebook for a text.
    screen.eventually(lambda: "Eager extensions activated" in "".join(workbench.logs().values()))
    screen.page.locator(".explorer-folders-view .monaco-list-row").get_by_text("scale.ipynb", exact=True).dblclick()
    lens = screen.page.locator(".notebook-editor .codelens-decoration a")
    lens.filter(has_text="likely faster on").first.wait_for()
    before = screen.eventually(lambda: cells(screen), lambda found: len(found) == 4)

    x, y = screen.place("scale_kernel", within=f"{CELL}:has-text('@triton.jit')")
    screen.page.mouse.click(x, y)
    screen.page.mouse.move(x + 2, y + 1, steps=3)
    hover = screen.page.locator(".monaco-hover:not(.hidden)").first
    screen.eventually(lambda: "likely faster" in hover.inner_text() if hover.is_visible() else False)

    screen.open_actions(y, within=CELL)
    screen.act(LIKELY)
    after = screen.eventually(lambda: cells(screen), lambda found: len(found) == 4 and found != before)
    assert after[1] == before[1]
    screen.eventually(lens.all_inner_texts, lambda found: any("than the original" in re.sub("\xa0", " ", t) for t in found))
    for number in [n for n in range(4) if after[n] != before[n]]:  # each cell has its own undo
        screen.page.locator(CELL).nth(number).locator(".view-line").first.click()
        screen.undo()
    screen.eventually(lambda: cells(screen), lambda found: found == before)
    assert screen.notifications() == []

"""A variant reviewed in the file: what is put in, kept, undone, accepted and rejected, and that nothing is lost or misplaced."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.workbench.conftest import has_failed
from tests.e2e.workbench.formatting import FORMATTED, formatter
from tests.e2e.workbench.reviewing import (
    FACTOR,
    FIGURE,
    HOST_FILE,
    KERNEL_FILE,
    LAUNCH,
    LOAD,
    PASSED,
    TEXT,
    WARPS,
    Scene,
    Window,
    edited,
)
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.workbench import Programs, Workbench

WHOLE = edited(TEXT, LAUNCH, LOAD)
MORE = "More actions for scale_kernel…"
BEST = re.compile(r": 1\.84× ")
HEADER = ["✓ 1.84× on H200", "2 changes", "Accept", "Reject", "Next variant", "Side by side"]


@pytest.fixture(scope="module")
def window(
    programs: Programs, browser: Browser, installed: Path, worker_python: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Window]:
    folder = tmp_path_factory.mktemp("review")

    def make() -> Workbench:
        workbench = Workbench(programs, browser, tmp_path_factory.mktemp("reviewing") / "profile", extensions=installed)
        workbench.install(formatter(folder))
        workbench.configure({"kernelband.python": worker_python, "kernelband.search.interpreter": sys.executable})
        return workbench

    window = Window(make, folder)
    yield window
    assert window.workbench is None or window.workbench.stop() == [], "a workbench has ended, and these of its processes have not"


@pytest.fixture
def scene(request: pytest.FixtureRequest, window: Window) -> Iterator[Scene]:
    found = None
    try:
        yield (found := window.scene(request.param))
    finally:
        if found is None or has_failed(request):
            window.give_up(request.node.name)
        else:
            window.close_files()


def of(name: str) -> pytest.MarkDecorator:
    """The file of a test."""
    return pytest.mark.parametrize("scene", [name], indirect=True)


def begin(screen: Screen) -> None:
    """Put the best variant in, from the lightbulb."""
    screen.eventually(screen.lenses, lambda found: "1.84× on H200 · 2 variants" in found)
    screen.steady(screen.lenses)  # lines move when lenses come
    screen.actions("tl.store")
    screen.act(BEST)
    screen.eventually(screen.lenses, lambda found: found[:6] == HEADER)


def coloured(screen: Screen) -> int:
    """Lines with a decoration of an extension, in all editors on screen."""
    return screen.page.locator(".editor-instance .view-overlays .cdr[class*=TextEditorDecorationType]").count()


def surfaces(screen: Screen) -> str:
    """All that is said of the kernel on screen."""
    hovers = [screen.hover(words).inner_text() for words in ("scale_kernel(", "BLOCK=512")]
    said = [*screen.actions("tl.arange"), *screen.lenses(), *screen.status(), *hovers]
    screen.press("Escape")
    screen.page.locator(".action-widget .monaco-list-row.action").first.wait_for(state="detached")
    return "\n".join(said)


@of("part.py")
def test_the_first_steps_of_a_variant_are_another_one(scene: Scene) -> None:
    screen = scene.screen
    screen.explore(scene.file.name)
    begin(screen)
    lenses = screen.lenses()  # once: the kernel's own, in the middle, changes when the server has looked at the text
    (load, _), (launch, _) = LOAD, [f"    scale_kernel[(triton.cdiv{part}" for part in LAUNCH]
    was = [f"− {load.strip()[:59]}…", f"− {launch.strip()}"]
    assert [*lenses[:6], *lenses[8:]] == [*HEADER, was[0], "Keep", "Undo", was[1], "Keep", "Undo"]
    assert screen.text() == WHOLE
    assert scene.file.read_text() == TEXT  # a person saves
    assert screen.eventually(lambda: coloured(screen) > 0)
    hover = screen.hover("tl.load(x")
    assert FIGURE in hover.inner_text()
    assert LOAD[0].strip() in hover.inner_text().replace("\xa0", " ")  # the line that was there
    screen.page.locator(".dirty-diff-glyph").first.wait_for()

    # the lines from before, between those of now: the variant's change, although git has one at the same line
    screen.lens(was[0]).click()
    peek = screen.page.locator(".peekview-widget")
    of = peek.locator("select")  # whose changes it shows
    screen.eventually(lambda: of.evaluate("select => select.selectedOptions[0].text"), lambda found: found == "KernelBand review")
    screen.eventually(lambda: peek.inner_text().replace("\xa0", " "), lambda found: load.strip() in found)
    screen.press("Escape")
    peek.wait_for(state="detached")
    screen.eventually(screen.lenses, lambda found: found[:6] == HEADER)  # Esc closed the peek, and nothing else

    # the launch is kept, the kernel's change undone
    screen.lens("Undo").click()
    part = edited(TEXT, LAUNCH)
    screen.eventually(screen.lenses, lambda found: found[:3] == ["1 of 2 steps: not verified", "1 change", "Verify this version"])
    assert not [text for text in screen.status() if FIGURE in text]
    assert screen.text() == part
    screen.eventually(screen.lenses, lambda found: not any("×" in text for text in found))
    said = surfaces(screen)
    assert FIGURE not in said, said
    assert "Verify this version" in said
    assert screen.text() == part  # Esc closed the list of actions, and nothing else
    screen.save()
    assert scene.file.read_text() == part

    # one undo brings it back, with its figure
    screen.undo()
    screen.eventually(screen.lenses, lambda found: found[:6] == HEADER)
    screen.eventually(screen.text, lambda found: found == WHOLE)

    # Esc restores what was there, in one edit
    screen.press("Escape")
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    assert screen.text() == TEXT
    screen.undo()
    screen.eventually(screen.text, lambda found: found == WHOLE)  # a text like any other
    assert "Accept" not in screen.lenses()
    screen.press("Control+Shift+z")
    assert screen.text() == TEXT
    assert coloured(screen) == 0
    assert scene.decisions() == []
    assert screen.notifications() == []


@of("keys.py")
def test_from_the_list_by_keys_to_the_next_variant(scene: Scene) -> None:
    screen = scene.screen
    screen.explore(scene.file.name)
    screen.eventually(screen.lenses, lambda found: "1.84× on H200 · 2 variants" in found)

    # the text changes while the list is open
    screen.lens("2 variants").click()
    assert [text.strip() for text in screen.picks()] == [
        "512 elements in each program · The load has a name",
        "1 warp for each program",
    ]
    mine = edited(TEXT, ("2.0 * tl.load", "3.0 * tl.load"))
    scene.file.write_text(mine)
    screen.eventually(lambda: any("3.0 * tl.load" in line for line in screen.lines()))
    screen.pick("512 elements")
    (said,) = screen.eventually(screen.notifications)
    assert f"scale_kernel in {scene.file.name} has changed since run {scene.run}" in said
    screen.dismiss()
    screen.click("tl.arange")
    assert screen.text() == mine
    assert scene.file.read_text() == mine
    scene.file.write_text(TEXT)
    screen.eventually(screen.lenses, lambda found: "1.84× on H200 · 2 variants" in found)

    # to the other variant, there and back again
    begin(screen)
    screen.press("Alt+v")
    screen.eventually(screen.lenses, lambda found: found[:2] == ["✓ 1.21× on H200", "1 change"])
    assert screen.text() == edited(TEXT, WARPS)
    screen.press("Alt+v")
    screen.eventually(screen.lenses, lambda found: found[:6] == HEADER)
    assert screen.text() == WHOLE

    # change by change: the last one kept accepts the whole
    screen.press("Alt+[", "Alt+y")  # the launch, which the kernel's change was made on
    screen.eventually(screen.lenses, lambda found: found[1:2] == ["1 change"])
    screen.press("Alt+]", "Alt+y", "Alt+y")  # once too often: nothing is said of that
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    assert screen.text() == WHOLE
    screen.eventually(scene.decisions, lambda found: found == [(1, "accept")])
    assert coloured(screen) == 0

    # what comes from the disk ends a review, and is what there is
    screen.save()
    screen.palette("KernelBand: Show variants of this kernel")
    screen.pick("The original")
    screen.eventually(screen.lenses, lambda found: "1.84× on H200 · 2 variants" in found)
    begin(screen)
    screen.save()
    scene.file.write_text(mine)
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    screen.click("tl.arange")
    assert screen.text() == mine
    assert screen.notifications() == []


@of("reloaded.py")
def test_a_reload_and_a_closed_tab_lose_nothing(scene: Scene) -> None:
    screen = scene.screen
    screen.explore(scene.file.name)
    begin(screen)
    screen.lens("Undo").click()
    part = edited(TEXT, LAUNCH)
    header = ["1 of 2 steps: not verified", "1 change", "Verify this version"]
    screen.eventually(screen.lenses, lambda found: found[:3] == header)
    screen.go(1)
    screen.type("# mine")
    screen.press("Enter")
    screen.steady(screen.text, 5)  # the workbench writes its copies a second after the last key
    screen.reload()
    screen.open(scene.file.name)
    screen.eventually(screen.lenses, lambda found: found[:3] == header)
    assert screen.text() == f"# mine\n{part}"
    assert scene.file.read_text() == TEXT
    assert screen.eventually(lambda: coloured(screen) > 0)

    # in two editors at once
    before = coloured(screen)
    screen.palette("View: Split Editor Right")
    screen.eventually(lambda: coloured(screen) >= 2 * before)
    screen.close_tab()

    # closed, and opened again
    screen.save()
    screen.close_tab()
    screen.eventually(screen.tabs, lambda found: found == [])
    screen.explore(scene.file.name)
    screen.eventually(screen.lenses, lambda found: found[:3] == header)

    # beside the text from before; Reject leaves what a person wrote
    screen.lens("Side by side").click()
    screen.eventually(lambda: screen.page.locator(".editor.original .view-line, .original-in-monaco-diff-editor .view-line").count())
    assert screen.tabs()[-1].startswith("Before ↔ variant 1 of scale_kernel")
    screen.button("Reject").click()
    screen.eventually(screen.tabs, lambda found: len(found) == 1)
    screen.click("tl.arange")
    assert screen.text() == f"# mine\n{TEXT}"
    assert screen.notifications() == []


@of("verified.py")
def test_a_step_is_verified_by_itself(scene: Scene) -> None:
    screen = scene.screen
    screen.explore(scene.file.name)
    begin(screen)
    screen.lens("Undo").click()
    screen.lens("Verify this version").click()
    (said,) = screen.eventually(screen.notifications)
    assert re.search(r"^Predicted, not measured: your edit of scale_kernel is .+ than the text before the edit", said), said
    screen.dismiss()
    # its own result, never the variant's
    screen.eventually(screen.lenses, lambda found: bool(re.match(r"1 of 2 steps: .+ \(predicted\)$", "".join(found[:1]))))
    assert not [text for text in (*screen.lenses(), *screen.status()) if "×" in text]
    screen.lens("Accept").click()
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    screen.click("tl.arange")
    assert screen.text() == edited(TEXT, LAUNCH)
    screen.eventually(scene.decisions, lambda found: found == [(3, "accept")])  # the variant of that step, not the one that it led to


@of("unwritten.py")
def test_what_cannot_be_written_down_stays_under_review(scene: Scene) -> None:
    screen = scene.screen
    screen.explore(scene.file.name)
    begin(screen)
    scene.workbench.configure({"kernelband.server.interpreter": "/bin/false"}, screen)
    screen.lens("Accept").click()
    screen.notification("Python 3.10 or newer").wait_for()
    screen.dismiss()
    assert screen.lenses()[:6] == HEADER
    assert scene.decisions() == []
    scene.workbench.configure({"kernelband.server.interpreter": None}, screen)
    screen.open(scene.file.name)
    screen.eventually(screen.lenses, lambda found: "Optimize" in found)
    screen.lens("Accept").click()
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    screen.eventually(scene.decisions, lambda found: found == [(1, "accept")])
    assert screen.text() == WHOLE
    assert screen.notifications() == []


@of("kernels.py")
def test_over_two_files(scene: Scene) -> None:
    screen = scene.screen
    screen.explore(scene.file.name)
    screen.eventually(screen.lenses, lambda found: "1.84× on H200 · 1 variant" in found)

    # what the lightbulb has no room for, and a question of the server's, are lists
    assert len(screen.actions("tl.store")) <= 5
    screen.act(MORE)
    assert "Copy the patch of the best variant" in [text.strip() for text in screen.picks()]
    screen.pick("Choose the entry that runs scale_kernel")
    asked = screen.eventually(lambda: [text.strip() for text in screen.picks()], lambda found: "The best one that is found" in found)
    assert "bench_scale (host.py)" in asked
    screen.press("Escape")
    assert screen.notifications() == []

    screen.actions("tl.store")
    screen.act(BEST)
    screen.eventually(screen.lenses, lambda found: found[:3] == ["✓ 1.84× on H200", "1 change", "Accept"])
    assert screen.text() == edited(KERNEL_FILE, *FACTOR)
    screen.open("host.py")
    assert screen.text() == edited(HOST_FILE, PASSED)
    was = f"− scale_kernel[(triton.cdiv{LAUNCH[0]}"
    assert screen.eventually(screen.lenses) == [was, "Keep", "Undo"]  # one group, over both files

    # undone in one, it is undone in both, and there is nothing left to review
    screen.lens("Undo").click()
    screen.eventually(screen.lenses, lambda found: found == [])
    assert screen.text() == HOST_FILE
    screen.open("kernels.py")
    screen.eventually(screen.lenses, lambda found: found == ["1.84× on H200 · 1 variant", "Optimize"])
    assert screen.text() == KERNEL_FILE
    assert screen.notifications() == []


@of("formatted.py")
def test_saved_and_formatted_by_the_editor(scene: Scene) -> None:
    screen = scene.screen
    settings = scene.file.parent / ".vscode" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"files.autoSave": "afterDelay", "files.autoSaveDelay": 200, "editor.formatOnSave": True}))
    screen.explore(scene.file.name)
    begin(screen)
    screen.eventually(scene.file.read_text, lambda found: found == WHOLE)
    screen.steady(screen.lenses)
    assert screen.lenses()[:6] == HEADER

    # formatted in a hunk and elsewhere, it is the variant still: the server says so
    screen.press("Control+s")
    formatted = edited(WHOLE, *FORMATTED)
    screen.eventually(scene.file.read_text, lambda found: found == formatted)
    screen.eventually(screen.lenses, lambda found: found[:6] == HEADER)
    screen.click("tl.arange")
    assert screen.text() == formatted

    # what is undone is the variant's, what the formatter did elsewhere stays
    screen.lens("Undo").click()
    screen.eventually(scene.file.read_text, lambda found: found == edited(TEXT, LAUNCH, *FORMATTED))
    screen.eventually(screen.lenses, lambda found: found[:1] == ["1 of 2 steps: not verified"])
    screen.click("tl.arange")
    screen.press("Escape")
    screen.eventually(scene.file.read_text, lambda found: found == edited(TEXT, FORMATTED[1]))
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    assert screen.notifications() == []
    settings.unlink()

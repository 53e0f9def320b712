"""The moving picture of the README: a session of a workbench, taken by a command. The history is made up, so the picture isn't kept."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.workbench.animation import animated
from tests.e2e.workbench.conftest import Lend
from tests.e2e.workbench.pictures import film
from tests.e2e.workbench.reviewing import TEXT, keep

#: As a browser reads it: pictures, and the milliseconds that each is shown.
_FRAMES = """async data => {
  const decoder = new ImageDecoder({ data: Uint8Array.from(atob(data), c => c.charCodeAt(0)), type: 'image/png' });
  await decoder.tracks.ready;
  const found = [];
  for (let at = 0; at < decoder.tracks.selectedTrack.frameCount; at++) {
    const { image } = await decoder.decode({ frameIndex: at });
    found.push(image.duration / 1000);
  }
  return found;
}"""


def test_a_session_becomes_one_moving_picture(lend: Lend, browser: Browser, tmp_path: Path) -> None:
    file, db, out = tmp_path / "work" / "scale.py", tmp_path / "db" / "history.db", tmp_path / "out"
    for folder in (file.parent, out):
        folder.mkdir()
    file.write_text(TEXT)
    keep(db, "0123abcd", file)
    workbench = lend()
    workbench.configure({"kernelband.db": str(db)})
    film(workbench, file, out)
    page = browser.new_page()
    page.goto(workbench.address)  # WebCodecs are for secure addresses
    shown = page.evaluate(_FRAMES, base64.b64encode((out / "session.png").read_bytes()).decode())
    page.close()
    assert shown == [1500, 3000, 2500, 3000, 2000, 4000]
    assert file.read_text() == TEXT
    shutil.rmtree(out)


@pytest.mark.parametrize("frames", [[], [(b"no picture", 1.0)]])
def test_what_is_no_picture_is_refused(frames: list[tuple[bytes, float]]) -> None:
    with pytest.raises(ValueError, match="picture"):
        animated(frames)

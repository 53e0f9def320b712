"""What the page of a report shows, in the editor and in a browser."""

from __future__ import annotations

from playwright.sync_api import FrameLocator, Locator, Page

#: How many colours a chart's pixels have: a canvas that nothing was drawn on has one.
COLOURS = """canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), found = new Set();
  for (let at = 0; at < data.length; at += 4) found.add((data[at] << 24) + (data[at + 1] << 16) + (data[at + 2] << 8) + data[at + 3]);
  return found.size;
}"""


def charts(page: FrameLocator | Page) -> dict[str, Locator]:
    """Each by the words that it has for who doesn't see it."""
    canvases = page.locator("canvas").all()
    return {canvas.get_attribute("aria-label") or "": canvas for canvas in canvases}


def drawn(chart: Locator) -> bool:
    return chart.evaluate(COLOURS) > 5

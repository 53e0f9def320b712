"""Much text: a repository whose kernels are listed while other things are asked, and a document that is too large to be read."""

from __future__ import annotations

import asyncio
import re

import pytest

from kernelband.source.encoding import MAX_FILE_BYTES
from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor

#: Kernels in a spelling that takes long to be sure of.
HEAD = "import triton\nimport triton.language as tl\nfrom triton import jit\n"
KERNEL = "\n\n@jit\ndef kernel_{file}_{number}(x, n, BLOCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), tl.load(x) * n - 1)\n"
FILES, EACH = 120, 50


async def listed(ed: Editor) -> int:
    """Asked as a side bar does, until there are no more."""
    while (answer := await ed.command("kernels"))["truncated"]:
        pass
    return len(answer["kernels"])


@pytest.mark.asyncio
async def test_answers_come_while_a_repository_is_read(home: Home) -> None:
    for file in range(FILES):
        text = HEAD + "".join(KERNEL.format(file=file, number=number) for number in range(EACH))
        (home.work / f"module_{file}.py").write_text(text)
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        assert "scale_kernel" in await ed.hover("scale_kernel(x, y")
        listing = asyncio.create_task(listed(ed))
        for answered in range(3):
            assert "scale_kernel" in await ed.hover("scale_kernel(x, y")
            assert "Optimize" in await ed.lenses()
            ed.type("def scale(", f"# line {answered}\ndef scale(")
        assert not listing.done(), "all three came before"
        assert await listing == FILES * EACH + 1
    (kept,) = (home.home / ".cache" / "kernelband" / "kernels").iterdir()
    kept.write_text(kept.read_text().replace('"kernel_7_7"', '"remembered"'))
    async with editor(home, PROFILES[0]) as ed:
        names = {k["kernel"] for k in (await ed.command("kernels"))["kernels"]}
        assert "remembered" in names, "the next server reads no file that is as it was"
        assert len(names) == FILES * EACH + 1


@pytest.mark.asyncio
async def test_a_document_that_is_too_large_is_refused_as_on_the_command_line(home: Home) -> None:
    small = home.file.read_text()
    home.file.write_text(small + "#" * MAX_FILE_BYTES)
    done = home.run("kernels", "scale.py")
    assert done.code == 3
    sentence = done.err.strip()
    async with editor(home, PROFILES[0]) as ed:

        async def said() -> list[str]:
            return [m.message for m in ed.client.messages]

        ed.open()
        assert await ed.lenses() == []
        assert await ed.eventually(said, bool) == [sentence]
        ed.type("return y", "return  y")
        assert await ed.lenses() == []
        typed = sentence.replace(f"{len(small) + MAX_FILE_BYTES:,}", f"{len(small) + MAX_FILE_BYTES + 1:,}")
        with pytest.raises(Exception, match=re.escape(typed)):
            await ed.command("optimize", ed.uri, "scale_kernel")
        assert (await ed.command("kernels"))["kernels"] == []
        ed.put_text(small)
        assert await ed.eventually(ed.lenses, bool) == ["Optimize"]

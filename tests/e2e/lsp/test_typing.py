"""A thousand edits of any characters: the server's text stays the editor's, and a variant lands right afterwards."""

from __future__ import annotations

import random

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.unit.lsp.test_documents import Client

EDITS = 340  # in each of three encodings
CHARACTERS = [*"ab #\t'()é中😀𝔘", "\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x85", "\u2028", "\u2029", "\ufeff", "\0"]
NOTE = '"""\n{}\n"""\n\n'
ENCODINGS = [types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf32]


class Typist:
    """Types into the notes above and below the kernel, by an editor's own idea of lines and columns."""

    def __init__(self, ed: Editor, seed: int) -> None:
        self.ed, self.random = ed, random.Random(seed)
        self.model = Client(ed.text, types.PositionEncodingKind(ed.encoding))

    @property
    def text(self) -> str:
        return "".join(self.model.lines)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and character of an offset; never between the two characters of a line break, where no cursor can be."""
        for number, line in enumerate(self.model.lines):
            if offset < len(line) or number == len(self.model.lines) - 1:
                return number, min(offset, len(line.rstrip("\r\n")))
            offset -= len(line)
        raise AssertionError

    def replace(self, start: int, end: int, new: str) -> None:
        change = self.model.replace(self.place(start), self.place(end), new)
        self.ed.text = self.text
        self.ed._changed(change)

    def type(self) -> None:
        """One edit within one of the notes, whose quotes stay."""
        text = self.text
        first = (4, text.index('"""', 4) - 1)
        last = (text.rindex('"""', 0, len(text) - 6) + 4, text.rindex('"""') - 1)
        low, high = self.random.choice((first, last))
        a, b = sorted(self.random.randint(low, high) for _ in range(2))
        b = min(b, a + self.random.randint(0, 6))
        self.replace(a, b, "".join(self.random.choices(CHARACTERS, k=self.random.randint(0, 8))))


@pytest.mark.asyncio
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_thousand_edits(searched: Home, encoding: types.PositionEncodingKind) -> None:
    def adapt(params: types.InitializeParams) -> None:
        assert params.capabilities.general is not None
        params.capabilities.general.position_encodings = [encoding]

    searched.file.write_text(NOTE.format("first") + searched.file.read_text() + "\n\n" + NOTE.format("last").rstrip() + "\n")
    async with editor(searched, PROFILES[0], adapt=adapt) as ed:
        assert ed.encoding == encoding
        ed.open()
        typist = Typist(ed, ENCODINGS.index(encoding))
        for number in range(EDITS):
            typist.type()
            if number % 40 == 0:  # in between the server answers, from the text of that moment
                assert "scale" in await ed.hover("scale_kernel(x, y")
        while "\0" in typist.text:  # Python takes none
            at = typist.text.index("\0")
            typist.replace(at, at + 1, "")
        before = ed.text
        await ed.eventually(ed.lenses, lambda found: any("predicted" in t for t in found))
        best = (await ed.actions("tl.store"))[0]
        assert best.command is not None
        done = await ed.execute(best.command)
        assert done == {"applied": True}
        kernel = before.index("import torch"), before.rindex('"""', 0, len(before) - 6)
        assert ed.text.startswith(before[: kernel[0]])
        assert ed.text.endswith(before[kernel[1] :])
        middle = ed.text[kernel[0] : len(ed.text) - len(before[kernel[1] :])]
        assert middle != before[kernel[0] : kernel[1]]
        assert middle.replace("1024", "64") == before[kernel[0] : kernel[1]]

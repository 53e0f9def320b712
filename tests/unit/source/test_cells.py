"""Cells as one program: every offset has its place, IPython's lines are comments, edits find their cells."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.source.cells import Cells, applied
from kernelband.source.model import Edit, Span

PYTHON = st.sampled_from(
    [
        "import torch",
        "x = (1\n     % 2)",
        "s = '''\n%no magic\n!nor this\n'''",
        'def f(a,\n      b):\n    return a % b  # it\'s "fine"',
        "y = 'don\\'t' + \"a\\\n!b\"\r\n",
        "if x:\n\tpass\nelse:\n\tx %= 3",
        "z = 1 \\\n  % 3",
        "print(x != 1); a = [\n1,\n# ?\n]",
        "x = f((7\n% 4), [\n7\n%4])",
        "",
        "  \n",
        "@f\nclass A:\n    '''d'''",
        "t = f'{x!r}' + r'\\?'",
        "é = '😀'\n",
    ]
)
OWN = st.sampled_from(
    [
        "%matplotlib inline",
        "!pip install \\\n  triton",
        "files = !ls *.py",
        "a, b = %magic it's",
        "x?",
        "torch.cuda??",
        "?x",
        "if x:\n    %timeit f(\n    !ls (\n    ?\n",
        "%%bash\nls 'x\n\necho (\n",
        "\n%%html\n<b>\r\n</b>",
        "%%time\ny = 2",
        "/f 1",
    ]
)
CELLS = st.lists(st.lists(st.one_of(PYTHON, OWN), max_size=4).map("\n".join), max_size=5)
EDITS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 60), st.sampled_from(["", "#", "a = 1\n", "\nb = 2", "c\nd\ne"])), max_size=4
)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@given(CELLS)
def test_every_character_has_its_place(sources: list[str]) -> None:
    cells = Cells(sources)
    assert len(cells.text) == len("\n".join(sources))
    own = {i for span in cells.own for i in range(span.start, span.end)}
    for number, (source, span) in enumerate(zip(cells.sources, cells.spans, strict=True)):
        for offset in range(span.start, span.end + 1):
            assert cells.at(offset) == number
        for offset, c in enumerate(source, span.start):
            assert cells.text[offset] == c or (offset in own and c not in "\r\n")


@given(CELLS)
def test_the_program_parses_if_its_cells_do(sources: list[str]) -> None:
    if all(parses(Cells([s]).text) for s in sources):
        assert parses(Cells(sources).text)


@given(st.lists(PYTHON, min_size=1, max_size=4))
def test_python_stays_as_it_is(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    assert Cells([text]).text == text


@given(st.lists(st.one_of(PYTHON, OWN.filter(lambda s: "%%" not in s)), max_size=4))
def test_lines_of_ipython_leave_python(pieces: list[str]) -> None:
    assert parses(Cells(["\n".join(pieces)]).text)


@given(CELLS, EDITS)
def test_cells_with_their_edits_are_the_cells_of_the_edited_program(sources: list[str], wanted: list[tuple[int, int, str]]) -> None:
    cells, edits, at = Cells(sources), list[Edit](), 0
    for gap, size, new in wanted:
        start = min(at + gap, len(cells.text))
        end = min(start + size, len(cells.text))
        edits.append(Edit(Span(start, end), new))
        at = end
    try:
        split = cells.split(edits)
    except SourceError:
        return
    assert Cells(cells.changed(split)).text == applied(cells.text, edits)
    assert len(cells.changed(split)) == len(sources)


def split(sources: list[str], old: str, new: str) -> tuple[str, ...]:
    cells = Cells(sources)
    start = cells.text.index(old)
    return cells.changed(cells.split([Edit(Span(start, start + len(old)), new)]))


def test_an_edit_of_two_cells_is_two_edits() -> None:
    sources = ["a = 1\nb = 1", "c = 1\n%timeit a"]
    assert split(sources, "b = 1\nc = 1", "b = 2\nc = 22") == ("a = 1\nb = 2", "c = 22\n%timeit a")
    assert split(["a", "b", "c"], "a\nb\nc", "1\n\n3") == ("1", "", "3")
    assert split(["a", "b"], "a", "") == ("", "b")
    with pytest.raises(SourceError, match="changes lines of code cells 1 to 2 as one"):
        split(sources, "b = 1\nc = 1", "b = 2")


def test_lines_of_ipython_are_not_changed() -> None:
    with pytest.raises(SourceError, match=r"changes '%timeit a' in code cell 2, which is IPython's and not Python"):
        split(["a = 1", "%timeit a"], "timeit", "x")
    with pytest.raises(SourceError, match="meets lines of IPython in code cell 1"):
        split(["%%bash\nls"], "", "import torch\n")
    assert split(["%time x\ny"], "", "import torch\n") == ("import torch\n%time x\ny",)
    with pytest.raises(SourceError, match="code cells"):
        Cells([]).split([Edit(Span(0, 0), "x")])


def test_time_and_capture_run_their_cells() -> None:
    assert (
        Cells(["%%time\nx = 1", "%%capture out\ny = 1", "%%timeit\nz = 1"]).text == "#%time\nx = 1\n#%capture out\ny = 1\n#%timeit\n# = 1"
    )

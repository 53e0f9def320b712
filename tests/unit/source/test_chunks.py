"""A text that could be read can be read after an edit, if the pieces can that the edit touches."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from kernelband.source.chunks import touched
from kernelband.source.model import Edit, Span
from kernelband.source.patch import make_patch
from kernelband.source.scopes import scopes
from kernelband.source.syntax import syntax_tree

TEXT = '''# what it is about
import triton


@triton.jit
def f(x, B: triton.language.constexpr):
    """Twice."""
    y = x * 2
    return y
def g(x):
    if x:
        return f(x)
    return 0


a = b = 1; c = 2
# the end
'''
WORDS = (
    "",
    "\n",
    "    ",
    "    z = 1\n",
    "def h():\n    return 1\n\n\n",
    "@triton.jit\n",
    '"""',
    "'",
    "(",
    ")",
    "\\\n",
    "# ",
    "x",
    "if y:\n",
    ";",
    "else:\n",
    "\f",
)


def reads(text: str) -> bool:
    try:
        syntax_tree(text)
    except (SyntaxError, ValueError):
        return False
    return True


def pieces(edits: list[Edit], text: str = TEXT) -> tuple[list[str], str]:
    """Those that the edits touch, and the whole text, as they will be."""
    patch = make_patch({"k.py": text}, {"k.py": edits})
    (file,) = patch.files
    return touched(scopes(text).chunks, text, file), file.apply(text)


def edits(text: str = TEXT) -> st.SearchStrategy[list[Edit]]:
    places = st.lists(st.integers(0, len(text)), min_size=2, max_size=6, unique=True).map(sorted)
    return st.tuples(places, st.lists(st.sampled_from(WORDS), min_size=3, max_size=3)).map(
        lambda x: [Edit(Span(a, b), new) for a, b, new in zip(x[0][::2], x[0][1::2], x[1], strict=False) if text[a:b] != new]
    )


@given(edits().filter(bool))
@example([Edit(Span(TEXT.index("@triton.jit"), TEXT.index("@triton.jit")), "@triton.heuristics({})\n")])
@example([Edit(Span(TEXT.index("def g"), TEXT.index("def g")), "    pass\n")])
@example([Edit(Span(len(TEXT), len(TEXT)), "d = 3\n")])
@example([Edit(Span(0, 0), "import os\n")])
def test_what_is_told_is_enough(made: list[Edit]) -> None:
    parts, whole = pieces(made)
    assert parts
    if all(map(reads, parts)):
        assert reads(whole)
    assert all(part in whole for part in parts)


def test_what_borders_on_an_edit_is_told_with_it() -> None:
    at = TEXT.index("def g")
    assert pieces([Edit(Span(at, at), "    pass\n")])[0] == [TEXT[TEXT.index("@") : at] + "    pass\n" + TEXT[at : TEXT.index("a = b")]]


def test_the_rest_of_a_long_text_is_not_told() -> None:
    text = TEXT + "".join(f"def h{i}():\n    return {i}\n\n\n" for i in range(200))
    at = text.index("return 77")
    assert pieces([Edit(Span(at, at + 9), "return 78")], text)[0] == ["def h77():\n    return 78\n\n\n"]

"""Trees and places: exact offsets in any text, names that an expression reads, one parse per text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.source import expression, find_kernels, line_column, node_span, offset_at, parse, require_parsable, walk
from kernelband.source.tree import value

PIECES = [
    "x",
    " ",
    "  ",
    "\t",
    "\f",
    "\v",
    "\x85",
    "\u2028",
    "\n",
    "\r\n",
    "\r",
    "\\\n",
    "(",
    ")",
    "'",
    '"""',
    "#é",
    "é",
    "\U0001d4b3",
    "=",
    "if 1:\n",
    "@",
    "f'{x}'",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.booleans())
def test_offsets_are_exact_for_every_leaf_of_any_text(text: str, mark: bool) -> None:
    text = "\ufeff" + text if mark else text
    leaf = parse(text).get_first_leaf()
    at = 0
    while leaf is not None:
        at += len(leaf.prefix)
        if leaf.value:
            assert node_span(leaf, text).start == at
        at += len(leaf.value)
        leaf = leaf.get_next_leaf()
    assert at == len(text)


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_line_column_is_the_inverse(text: str) -> None:
    for offset in range(len(text) + 1):
        assert offset_at(text, *line_column(text, offset)) == offset


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("a + b * a", ("a", "b")),
        ("a.b.c(d=e)", ("a", "e")),
        ("lambda META: (triton.cdiv(n, META['B']), k)", ("triton", "n", "k")),
        ("lambda m, s=size: m + s", ("size",)),
        ("[f(i) for i in items if i > low]", ("f", "items", "low")),
        ("{k: v for k, v in d.items()}", ("d",)),
        ("x[i:j, None]", ("x", "i", "j")),
        ("f'{a!r:>{width}} b'", ("a", "width")),
        ("f(*args, **kw)", ("f", "args", "kw")),
        ("(a if b else c)", ("a", "b", "c")),
        ("128", ()),
    ],
)
def test_names_that_an_expression_reads(code: str, names: tuple[str, ...]) -> None:
    node = parse(f"x = {code}\n").children[0].children[0].children[2]
    found = expression(node, f"x = {code}\n")
    assert (found.text, found.names) == (code, names)


def large() -> str:
    kernel = (
        '@triton.jit\ndef kernel_{0}(x_ptr, n, BLOCK: tl.constexpr):\n    """No {0}."""\n'
        + "    x = tl.load(x_ptr + tl.arange(0, BLOCK), mask=n > 3)\n" * 40
    )
    host = "\n\ndef host_{0}(x):\n    BLOCK = 128\n    kernel_{0}[(1,)](x, 4, BLOCK=BLOCK)\n\n\n"
    return "import triton\nimport triton.language as tl\n\n\n" + "".join((kernel + host).format(i) for i in range(20))


def test_a_text_is_parsed_once_and_read_once_for_each_file() -> None:
    text = large()
    before = parse.cache_info().misses
    found = find_kernels("/w/large.py", text)
    assert len(found) == len(find_kernels("/w/other.py", text)) == 20
    assert parse.cache_info().misses == before + 1
    assert find_kernels("/w/large.py", text) is found


def test_walk_is_in_source_order() -> None:
    starts = [leaf.start_pos for leaf in walk(parse(large())) if value(leaf)]
    assert starts == sorted(starts)


# ---------------------------------------------------------------- refusing text that isn't Python


@pytest.mark.parametrize(
    ("text", "line"),
    [("x = (\n", 1), ("def f(:\n    pass\n", 1), ("a = 1\nb = = 2\n", 2), ("if 1:\nx = 1\n", 2), ("\ufeffx = )\n", 1)],
)
def test_a_syntax_error_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(SourceError) as caught:
        require_parsable(text, "k.py")
    assert caught.value.message.startswith(f"There is a syntax error in line {line} of k.py (")
    assert caught.value.message.endswith("): fix it, then run again.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "\ufeffx = 1\r\n",
        "s = '\\d'\n",
        "match x:\n    case 1: pass\n",
        "f'{x}'\n",
        "def f[T](x: T): pass\n",
        "try: pass\nexcept* E: pass\n",
    ],
)
def test_text_that_some_supported_python_takes_is_let_through(text: str) -> None:
    require_parsable(text, "k.py")


def test_absurd_text_is_an_error_of_ours_too() -> None:
    for text in ("x = 1\0\n", "(" * 5000):
        with pytest.raises(SourceError):
            require_parsable(text, "k.py")

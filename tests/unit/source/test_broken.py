"""Text that is broken in the middle of an edit: intact kernels stay, the edited one while its def line stands, and nothing ever raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.source import Workspace, find_kernels, find_program, parse
from kernelband.source.model import Kernel
from tests.unit.source.conftest import FIXTURES

HEAD = "import triton\nimport triton.language as tl\n\n"
KERNEL = "@triton.jit\ndef {}(x_ptr, n, BLOCK: tl.constexpr):\n    pid = tl.program_id(0)\n    tl.store(x_ptr + pid, {})\n\n\n"
FIRST, LAST = KERNEL.format("first", "0"), KERNEL.format("last", "1")
TEXTS = {p.name: p.read_text() for p in FIXTURES.glob("*.py")}


def names(text: str) -> list[str]:
    return [k.place.qualname for k in find_kernels("/w/a.py", text)]


BROKEN = {
    "unclosed call": "    x = tl.load(x_ptr\n",
    "unclosed call, then more": "    x = tl.load(x_ptr\n    y = x +\n    tl.store(x_ptr, y)\n",
    "dangling operator": "    x = n +\n",
    "unclosed string": "    x = 'abc\n",
    "unclosed list": "    x = [1, 2,\n",
    "half a for": "    for i in range(\n",
    "if without body": "    if n > 1:\n",
    "half a lambda": "    f = lambda x:\n",
    "stray bracket": "    x = 1)\n",
    "stray indent": "            x = 1\n",
    "dot at the end": "    x = tl.\n",
    "conflict markers": "<<<<<<< HEAD\n    x = 1\n=======\n    x = 2\n>>>>>>> other\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_kernels_around_a_broken_statement(broken: str) -> None:
    edited = "@triton.jit\ndef edited(x_ptr, n, BLOCK: tl.constexpr = 16):\n    pid = tl.program_id(0)\n" + broken
    text = HEAD + FIRST + edited + "\n\n" + LAST
    found = {k.place.qualname: k for k in find_kernels("/w/a.py", text)}
    assert list(found) == ["first", "edited", "last"]
    for name, whole in (("first", FIRST), ("last", LAST)):
        kernel = found[name]
        assert text[kernel.span.start : kernel.span.end] == whole.rstrip()
        assert [p.name for p in kernel.parameters] == ["x_ptr", "n", "BLOCK"]
    span = found["edited"].span
    assert text[span.start : span.end].startswith("@triton.jit\ndef edited(")
    assert span.end <= found["last"].span.start


@pytest.mark.parametrize(
    "edited",
    [
        "@triton.jit\ndef edited(x_ptr, n, BLOCK: tl.constexpr = 16):\n",
        "@triton.jit\ndef edited(x_ptr, n, BLOCK: tl.constexpr = 16):\n    # nothing yet\n",
        "@triton.jit\ndef edited(x_ptr, n, BLOCK: tl.constexpr = 16):\n    '''a docstring that is not closed\n    x = 1\n",
        "@triton.autotune(configs=[triton.Config({'BLOCK': 1}),\n                 key=['n'])\n@triton.jit\n"
        "def edited(x_ptr, n, BLOCK: tl.constexpr = 16):\n    x = 1\n",
        "@triton.autotune(configs=[\n    triton.Config({'BLOCK': 1}),\n])\n@triton.jit\ndef edited(x_ptr, n, BLOCK: tl.constexpr = 16):\n",
    ],
)
@pytest.mark.parametrize("after", ["", "\n\n" + LAST], ids=["at the end", "before another"])
def test_the_kernel_being_edited_while_its_def_line_stands(edited: str, after: str) -> None:
    text = HEAD + FIRST + edited + after
    found = {k.place.qualname: k for k in find_kernels("/w/a.py", text)}
    assert list(found) == (["first", "edited", "last"] if after else ["first", "edited"])
    kernel = found["edited"]
    assert [(p.name, p.constexpr, p.default) for p in kernel.parameters] == [
        ("x_ptr", False, None),
        ("n", False, None),
        ("BLOCK", True, "16"),
    ]
    assert [text[p.span.start : p.span.end] for p in kernel.parameters] == ["x_ptr", "n", "BLOCK: tl.constexpr = 16"]
    assert text[kernel.span.start] == "@"
    assert kernel.line == text[: kernel.name_span.start].count("\n") + 1


def test_a_def_line_that_does_not_stand_is_left_alone() -> None:
    assert names(HEAD + FIRST + "@triton.jit\ndef edited(x_ptr, n, BLO") == ["first"]
    assert names(HEAD + "@triton.jit\ndef edited(x_ptr\n\n\n" + LAST) == ["last"]
    assert names(HEAD + "@triton.jit\n") == []


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_one_triple_quote_too_many_does_not_hide_what_follows(quotes: str) -> None:
    documented = "@triton.jit\ndef {}(x_ptr):\n    " + quotes + "Says {}." + quotes + "\n    tl.store(x_ptr, 0)\n\n\n"
    text = HEAD + documented.format("one", 1) + "@triton.jit\ndef edited(x_ptr):\n    " + quotes + "\n    pass\n\n\n"
    text += documented.format("two", 2) + documented.format("three", 3)
    assert names(text) == ["one", "edited", "two", "three"]
    for kernel in find_kernels("/w/a.py", text):
        check(kernel, text)


def test_a_decorator_being_typed_belongs_to_the_next_function() -> None:
    (kernel,) = find_kernels("/w/a.py", HEAD + "@trit\n\n" + LAST)
    assert [d.text for d in kernel.decorators] == ["trit", "triton.jit"]


def test_an_edited_kernel_in_a_class_keeps_its_qualname() -> None:
    text = HEAD + "class A:\n    @staticmethod\n    @triton.jit\n    def k(x, n):\n\n    def other(self):\n        pass\n"
    (kernel,) = find_kernels("/w/a.py", text)
    assert kernel.place.qualname == "A.k"
    assert [d.text for d in kernel.decorators] == ["staticmethod", "triton.jit"]


def check(kernel: Kernel, text: str) -> None:
    """What every kernel of any text must keep."""
    assert 0 <= kernel.span.start <= kernel.name_span.start < kernel.name_span.end <= len(text)
    assert kernel.span.start <= kernel.body.start <= kernel.body.end <= kernel.span.end <= len(text)
    assert text[kernel.name_span.start : kernel.name_span.end] == kernel.place.name
    assert text.startswith(("@", "def"), kernel.span.start)
    for parameter in kernel.parameters:
        assert parameter.name in text[parameter.span.start : parameter.span.end]


@pytest.mark.parametrize("name", TEXTS)
def test_truncated_anywhere_it_never_raises_and_spans_hold(name: str) -> None:
    text = TEXTS[name]
    for end in range(0, len(text), 97):
        for kernel in find_kernels("/w/a.py", text[:end]):
            check(kernel, text[:end])


@pytest.mark.parametrize("name", TEXTS)
def test_truncated_text_keeps_the_kernels_that_ended_before(name: str) -> None:
    text = TEXTS[name]
    whole = [k for k in find_kernels("/w/a.py", text) if text[k.span.start] == "@"]  # a call that makes one stands behind it
    for end in range(0, len(text), 211):
        found = [k.place for k in find_kernels("/w/a.py", text[:end])]
        assert [k.place for k in whole if k.span.end < end] == [p for p in found if any(k.place == p and k.span.end < end for k in whole)]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(TEXTS)))
def test_mutated_anyhow_it_never_raises_and_spans_hold(data: st.DataObject, name: str) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 200)))
    new = data.draw(
        st.one_of(st.just(""), st.text(max_size=6), st.sampled_from(["(", ")", '"""', "'", "\\", "\f", "\r", "\0", "@", "def ", ":"]))
    )
    text = text[:start] + new + text[end:]
    for kernel in find_kernels("/w/a.py", text):
        check(kernel, text)


@settings(max_examples=15, deadline=None)
@given(data=st.data(), name=st.sampled_from(["launches.py", "kept.py"]))
def test_a_program_of_mutated_text_never_raises_anything_but_the_one_error(data: st.DataObject, name: str) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 80)))
    text = text[:start] + data.draw(st.sampled_from(["", "(", "]", "\n", "=", "'"])) + text[end:]
    path = str(FIXTURES / name)
    kernels = find_kernels(path, text)
    workspace = Workspace([str(FIXTURES / "project")], {path: text})
    for kernel in kernels[:1]:
        if sum(k.place == kernel.place for k in kernels) == 1:
            program = find_program(workspace, path, kernel.place.qualname)
            for launch in program.launches:
                assert text[launch.call.start] == "("
                assert text[launch.call.end - 1] == ")"


def test_every_character_is_in_the_tree() -> None:
    for text in TEXTS.values():
        for cut in (text, text[: len(text) // 3], text[len(text) // 2 :]):
            assert parse(cut).get_code() == cut

"""A text that is typed, broken most of the time, gives the kernels that reading it as a whole gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parso.cache import parser_cache

from kernelband.source import IncrementalKernels, find_kernels, incremental, parse, walk
from kernelband.source.scopes import Scopes
from kernelband.source.tree import statements
from tests.unit.source.conftest import FIXTURES

TEXTS = {p.name: t for p in sorted(FIXTURES.glob("*.py")) if "jit" in (t := p.read_text()) and len(t) < 6000}
PIECES = ["\n", "    ", "(", ")", "[", '"', '"""', ":", "@triton.jit\n", "def f(x):\n", "def ", "x", "= 1", "\f", "\r", "\\\n", "#", "\0"]
PIECES += [
    "if x:\n",
    "class A:\n",
    "else:\n",
    "\r\n",
    "\ufeff",
    "async ",
    "return",
    "@",
    "{",
    "f'{",
    " := ",
    "lambda x: ",
    "k = kernel\n",
    "é😀",
]
#: (where, how much is taken out, what is put in); where is a fraction of the text.
EDITS = st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0, 0, 1, 5, 80]), st.sampled_from(["", *PIECES])), min_size=1, max_size=8)


def edited(text: str, where: float, out: int, new: str) -> str:
    at = int(where * len(text))
    return text[:at] + new + text[at + out :]


@settings(max_examples=15, deadline=None)
@given(name=st.sampled_from(sorted(TEXTS)), edits=EDITS)
def test_typing_is_reading_anew(name: str, edits: list[tuple[float, int, str]]) -> None:
    text, typed = TEXTS[name], IncrementalKernels()
    assert typed.read("/w/a.py", text) == find_kernels("/w/a.py", text)
    for where, out, new in edits:
        text = edited(text, where, out, new)
        assert typed.read("/w/a.py", text) == find_kernels("/w/a.py", text)
    typed.close()


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(TEXTS)), edits=EDITS)
def test_statements_miss_nothing_that_binds_or_is_broken(name: str, edits: list[tuple[float, int, str]]) -> None:
    text = TEXTS[name]
    for where, out, new in edits:
        text = edited(text, where, out, new)
    module = parse(text)
    binding = {"funcdef", "classdef", "import_from", "import_name", "expr_stmt", "for_stmt", "with_item", "namedexpr_test"}
    sought = [n for n in walk(module) if n.type in {*binding, "error_node", "error_leaf"}]
    sought_parameters = [
        n for n in walk(module) if n.type == "param" and n.search_ancestor("funcdef", "lambdef", "lambdef_nocond").type == "funcdef"
    ]
    met = {id(n) for n in statements(module, text)}
    assert [n for n in sought + sought_parameters if id(n) not in met] == []


def test_statements_leave_expressions_out() -> None:
    plain = "def f(a, b=1):\n    x = a[b + 1] * g(a, c=b)\n"
    module = parse(plain)
    assert len(list(statements(module, plain))) < len(list(walk(module))) / 2
    walrus = "def f(a):\n    return (b := a)\n"
    assert [n.type for n in statements(parse(walrus), walrus) if n.type == "namedexpr_test"] == ["namedexpr_test"]
    assert [b.kind for b in Scopes(walrus).member("f.<locals>.b")] == ["assign"]


def test_trees_go_when_a_document_closes() -> None:
    def held() -> int:
        return sum(len(trees) for trees in parser_cache.values())

    before, typed = held(), IncrementalKernels()
    text = "import triton\n\n\n@triton.jit\ndef k(x):\n    '''open\n"
    assert [k.place.name for k in typed.read("/w/a.py", text)] == ["k"]
    assert held() == before + 2  # with the quotes and without
    typed.close()
    assert held() == before
    assert [k.place.name for k in typed.read("/w/a.py", text)] == ["k"]
    typed.close()


def test_where_the_incremental_parser_fails_the_whole_text_is_parsed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        def __init__(self, grammar: Any) -> None:
            self.grammar = grammar

        def parse(self, text: str, **options: Any) -> Any:
            if options.get("diff_cache"):
                raise AssertionError("a fault of parso")
            return self.grammar.parse(text)

    grammar = Failing(incremental.tolerant_grammar())
    monkeypatch.setattr(incremental, "tolerant_grammar", lambda: grammar)
    typed = IncrementalKernels()
    assert [k.place.name for k in typed.read("/w/a.py", "import triton\n@triton.jit\ndef k(x):\n    pass\n")] == ["k"]
    assert "a fault of parso" in caplog.text


LOST = {
    "bracket": "x = (\n{}def lost(p):\n    pass\n",
    "operator": "x = 1 +\n{}def lost(p):\n    pass\n",
    "call, then more": "def g():\n    x = f(y\n    z = 1 +\n    h(z)\n{}def lost(p):\n    pass\n",
}


@pytest.mark.parametrize("broken", LOST.values(), ids=LOST)
@pytest.mark.parametrize(
    "stack", ["@triton.jit\n", "@triton.autotune(\n    configs=[],\n    key=['n'],\n)\n@triton.jit\n"], ids=["jit", "autotuned"]
)
def test_decorators_that_an_error_swallowed(broken: str, stack: str) -> None:
    found = find_kernels("/w/a.py", "import triton\n" + broken.format(stack))
    assert [(k.place.name, k.autotuned) for k in found] == [("lost", "autotune" in stack)]


def test_an_odd_character_after_the_decorator() -> None:
    assert [k.place.name for k in find_kernels("/w/a.py", "import triton\n@triton.jit\ufeff\ndef lost(p):\n    pass\n")] == ["lost"]


def test_a_decorator_within_the_function_before_is_not_the_next_ones() -> None:
    text = "import triton\n\n\ndef host(x):\n    f(\n@triton.jit\n        x,\n    )\n    return x\n\n\ndef plain(x):\n    return x\n"
    assert find_kernels("/w/a.py", text) == ()


def test_helpers_through_aliases_and_classes() -> None:
    text = """
import triton

class Box:
    @triton.jit
    def inner(x):
        return x

@triton.jit
def first(x):
    return x

again = first
once_more = again

@triton.jit
def through(x):
    return once_more(x)

@triton.jit
def by_class(x):
    return Box.inner(x)

@triton.jit
def none(x):
    return x.first + x
"""
    found = {k.place.qualname: [h.qualname for h in k.helpers] for k in find_kernels("/w/a.py", text)}
    assert found == {"Box.inner": [], "first": [], "through": ["first"], "by_class": ["Box.inner"], "none": []}


def test_a_decorator_that_is_no_name_makes_no_kernel() -> None:
    text = "import triton\n\n\n@table[0]\ndef plain(p):\n    pass\n\n\n@table[0]\n@triton.jit\ndef kernel(p):\n    pass\n"
    assert [k.place.name for k in find_kernels("/w/a.py", text)] == ["kernel"]

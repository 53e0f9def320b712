"""Kernels in whole text: every spelling, with parameters, configs, heuristics, helpers and exact spans."""

from __future__ import annotations

import ast

import pytest

from kernelband.source import find_kernels
from kernelband.source.model import Kernel

PATH = "/w/spellings.py"


@pytest.fixture(scope="module")
def kernels(spellings: str) -> dict[str, Kernel]:
    return {k.place.qualname: k for k in find_kernels(PATH, spellings)}


def test_every_spelling_is_found_in_source_order_and_nothing_else(kernels: dict[str, Kernel]) -> None:
    assert list(kernels) == [
        "dotted",
        "imported",
        "renamed",
        "module_alias",
        "assigned_alias",
        "partial_alias",
        "partial_inline",
        "with_arguments",
        "stacked",
        "by_variables",
        "by_function",
        "by_own_autotune",
        "Holder.in_class",
        "Holder.Inner.deeper",
        "factory.<locals>.nested",
        "factory.<locals>.other",
        "leaf",
        "middle",
        "combine",
        "calling",
    ]
    assert {k.place.path for k in kernels.values()} == {PATH}


def test_qualnames_lines_and_names_agree_with_pythons_own_parser(spellings: str, kernels: dict[str, Kernel]) -> None:
    lines = {(n.lineno, n.name) for n in ast.walk(ast.parse(spellings)) if isinstance(n, ast.FunctionDef)}
    for kernel in kernels.values():
        assert (kernel.line, kernel.place.name) in lines
        assert spellings[kernel.name_span.start : kernel.name_span.end] == kernel.place.name


def test_span_covers_decorators_and_body_without_the_last_newline(spellings: str, kernels: dict[str, Kernel]) -> None:
    nodes = {n.name: n for n in ast.walk(ast.parse(spellings)) if isinstance(n, ast.FunctionDef)}
    for kernel in kernels.values():
        text = spellings[kernel.span.start : kernel.span.end]
        assert text.startswith("@")
        assert text.count("\n") == (nodes[kernel.place.name].end_lineno or 0) - nodes[kernel.place.name].decorator_list[0].lineno
        assert not text.endswith("\n")
        body = spellings[kernel.body.start : kernel.body.end]
        assert ast.get_source_segment(spellings, nodes[kernel.place.name].body[0]) is not None
        assert body.startswith(ast.get_source_segment(spellings, nodes[kernel.place.name].body[0]) or "?")


@pytest.mark.parametrize(
    ("name", "constexprs"),
    [
        ("dotted", ["BLOCK"]),
        ("renamed", ["BLOCK"]),
        ("module_alias", ["BLOCK"]),
        ("stacked", ["BLOCK", "STAGES", "EVEN"]),
        ("assigned_alias", []),
    ],
)
def test_constexprs_by_annotation_plain_string_or_alias(kernels: dict[str, Kernel], name: str, constexprs: list[str]) -> None:
    assert [p.name for p in kernels[name].parameters if p.constexpr] == constexprs


def test_parameter_spans_and_defaults(spellings: str, kernels: dict[str, Kernel]) -> None:
    block = kernels["module_alias"].parameters[1]
    assert (block.annotation, block.default) == ("t.language.constexpr", "16")
    assert spellings[block.span.start : block.span.end] == "BLOCK: t.language.constexpr = 16"
    assert spellings[kernels["renamed"].parameters[1].span.start : kernels["renamed"].parameters[1].span.end] == 'BLOCK: "tl.constexpr"'


def test_configs_written_in_the_decorator(spellings: str, kernels: dict[str, Kernel]) -> None:
    first, second = kernels["stacked"].configs
    assert {k: e.text for k, e in first.constants.items()} == {"BLOCK": "128", "STAGES": "2"}
    assert {k: e.text for k, e in first.options.items()} == {"num_warps": "4", "num_stages": "2"}
    assert {k: e.text for k, e in second.constants.items()} == {"BLOCK": "256", "STAGES": "3"}
    assert spellings[first.span.start : first.span.end].startswith("triton.Config({")
    assert spellings[first.constants["BLOCK"].span.start : first.constants["BLOCK"].span.end] == "128"


def test_configs_from_a_variable_a_comprehension_and_a_function(kernels: dict[str, Kernel]) -> None:
    (config,) = kernels["by_variables"].configs
    assert config.constants["BLOCK"].names == ("block",)
    assert [c.constants["BLOCK"].text for c in kernels["by_function"].configs] == ["32", "64"]
    assert kernels["by_variables"].autotuned
    assert kernels["by_own_autotune"].autotuned
    assert [c.constants["BLOCK"].text for c in kernels["by_own_autotune"].configs] == ["32"]
    assert not kernels["dotted"].autotuned


def test_heuristics_name_what_they_set(kernels: dict[str, Kernel]) -> None:
    assert kernels["stacked"].heuristics == ("EVEN",)
    assert kernels["by_variables"].heuristics == ("EVEN",)


def test_decorators_are_listed_without_the_at_sign(kernels: dict[str, Kernel]) -> None:
    assert [d.text for d in kernels["Holder.in_class"].decorators] == ["staticmethod", "triton.jit"]
    assert [d.text.partition("(")[0] for d in kernels["stacked"].decorators] == ["triton.autotune", "triton.heuristics", "triton.jit"]


def test_helpers_are_transitive_and_include_functions_passed_on(kernels: dict[str, Kernel]) -> None:
    assert [h.qualname for h in kernels["calling"].helpers] == ["leaf", "middle", "combine"]
    assert [h.qualname for h in kernels["middle"].helpers] == ["leaf"]
    assert kernels["leaf"].helpers == ()


@pytest.mark.parametrize(
    "text",
    [
        "from numba import jit\n@jit\ndef f(x): return x\n",
        "import jax\n@jax.jit\ndef f(x): return x\n",
        "from triton.experimental import gluon\n@gluon.jit\ndef f(x): return x\n",
        "@jit\ndef f(x): return x\n",
        "",
        "x = 'triton.jit'\n# @triton.jit\n",
    ],
)
def test_other_jits_are_not_kernels(text: str) -> None:
    assert find_kernels("/w/a.py", text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "from triton import *\n@jit\ndef f(x): return x\n",
        "import triton.language as tl, triton\n@triton.jit\ndef f(x): return x\n",
        "try:\n    import triton\nexcept ImportError:\n    triton = None\n@triton.jit\ndef f(x): return x\n",
        "def g():\n    import triton as q\n    @q.jit\n    def f(x): return x\n",
        "if True:\n    from triton.runtime.jit import jit as j\nelse:\n    j = None\n@j\ndef f(x): return x\n",
        "import triton\nclass A:\n    j = triton.jit\n    @j\n    def f(x): return x\n",
        "import triton\n@triton.jit # why\n# and what\n\ndef f(x): return x\n",
    ],
)
def test_imports_wherever_they_stand(text: str) -> None:
    assert [k.place.name for k in find_kernels("/w/a.py", text)] == ["f"]


def test_a_name_in_another_scope_does_not_make_a_kernel() -> None:
    text = "import numba\ndef g():\n    from triton import jit\njit = numba.jit\n@jit\ndef f(x): return x\n"
    assert find_kernels("/w/a.py", text) == ()

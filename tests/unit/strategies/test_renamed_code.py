"""The code of an expression that moves into another loop, where names may be others."""

from __future__ import annotations

import ast

import pytest

from kernelband.strategies.code.module import Module
from kernelband.strategies.fusion.online_softmax import code_with


def parts(text: str) -> tuple[Module, ast.expr, dict[str, ast.expr]]:
    """The value that is assigned in the text, and its parts by their code."""
    module = Module.read("k.py", text)
    assert module is not None
    (statement,) = module.tree.body
    assert isinstance(statement, ast.Assign)
    within = [n for n in ast.walk(statement.value) if isinstance(n, ast.expr)]
    return module, statement.value, {module.code(n): n for n in within}


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ({}, "tl.exp(x - m) * x + y(x=x)"),
        ({"x": "x_1"}, "tl.exp(x_1 - m) * x_1 + y(x=x_1)"),
        ({"m": "top", "other": "o", "x": "x"}, "tl.exp(x - top) * x + y(x=x)"),
        ({"x": "m", "m": "x"}, "tl.exp(m - x) * m + y(x=m)"),
    ],
)
def test_names_are_those_of_the_other_loop(names: dict[str, str], code: str) -> None:
    module, value, _ = parts("s = tl.exp(x - m) * x + y(x=x)\n")
    assert code_with(module, value, names, {}) == code


def test_what_is_replaced_as_a_whole_keeps_none_of_its_names() -> None:
    module, value, within = parts("s = tl.exp(x - m) * x\n")
    assert code_with(module, value, {"x": "x_1"}, {within["x - m"]: "x - new"}) == "tl.exp(x - new) * x_1"
    assert code_with(module, value, {"m": "n"}, {within["m"]: "new_m"}) == "tl.exp(x - new_m) * x"

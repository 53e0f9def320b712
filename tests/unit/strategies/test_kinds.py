"""What numbers an expression holds: by the kernel's text, and by the tensors of the cases."""

from __future__ import annotations

import ast

import pytest

from kernelband.source.syntax import expression_tree
from kernelband.strategies.code.kinds import kind_of, literal, whole
from kernelband.strategies.code.view import View
from tests.unit.strategies.mask_samples import ATTENTION, attention_facts
from tests.unit.strategies.samples import program_of


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("qk", "float32"),  # a product of halves, scaled
        ("k", "float"),
        ("k.to(tl.float32)", "float32"),
        ("p", "float32"),
        ("p.to(tl.float16)", "float"),
        ("m_i", "float32"),  # goes through the loop
        ("acc * alpha[:, None]", "float32"),
        ("scale", "float"),
        ("n_kv / 2", "float"),
        ("cols", None),
        ("n_q * 2", None),
        ("tl.load(lens)", None),
        ("helper(qk)", None),
        ("tl.where(cols < n_kv, 0, -1.0e9)", "float32"),
        ("tl.where(cols < n_kv, 0, 1)", None),
    ],
)
def test_kinds(code, kind, tmp_path):
    program = program_of(ATTENTION, tmp_path)
    view = View.read(program, attention_facts(program))
    assert kind_of(view, expression_tree(code).body) == kind


def test_literals():
    read = {
        code: expression_tree(code).body for code in ("0", "-1", "0.5", "-1.0e9", 'float("-inf")', '-float("inf")', "n", "0.0 * n", "True")
    }
    assert {code for code, node in read.items() if literal(node)} == {"0", "-1", "0.5", "-1.0e9", 'float("-inf")', '-float("inf")'}
    assert {code for code, node in read.items() if whole(node)} == {"0", "-1"}
    assert isinstance(read["n"], ast.Name)

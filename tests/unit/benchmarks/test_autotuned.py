"""Every example that a plan is for can be tuned, and the text that comes out launches over META."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from autotuned import MOST, PLANS, Plan, UntunableError, autotuned

EXAMPLES = Path(__file__).parents[3] / "examples"
HOST = """
@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    pass

def f(x):
    {body}
"""


@pytest.mark.parametrize("name", sorted(PLANS))
def test_every_plan_fits_its_example(name):
    text = autotuned((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), PLANS[name])
    tree = ast.parse(text)
    for plan in PLANS[name]:
        kernel = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == plan.kernel)
        tuners = [d for d in kernel.decorator_list if ast.unparse(d).startswith("triton.autotune")]
        assert len(tuners) == 1
        assert ast.unparse(tuners[0]).count("triton.Config(") == min(MOST, len(plan.configurations()))
        launches = [
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript) and ast.unparse(n.func.value) == plan.kernel
        ]
        assert launches
        for launch in launches:
            assert not {k.arg for k in launch.keywords} & {*plan.blocks, "num_warps", "num_stages"}


@pytest.mark.parametrize(
    ("body", "grid", "call"),
    [
        ("B = 64\n    k[(triton.cdiv(n, B),)](x, y, n, BLOCK=B)", "lambda META: (triton.cdiv(n, META['BLOCK']),)", "(x, y, n)"),
        ("B = 64\n    p = cdiv(n, B)\n    g = (p, 1)\n    k[g](x, y, n, B)", "lambda META: (cdiv(n, META['BLOCK']), 1)", "(x, y, n)"),
        ("k[lambda m: (cdiv(n, m['BLOCK']),)](x, y, n, BLOCK=64, num_warps=2)", "lambda m: (cdiv(n, m['BLOCK']),)", "(x, y, n)"),
        ("g = lambda m: (m['BLOCK'],)\n    k[g](x, y, n, BLOCK=64)", "g", "(x, y, n)"),
        ("rows = x.shape[0]\n    k[rows,](x, y, n, BLOCK=64)", "rows,", "(x, y, n)"),
    ],
)
def test_a_grid_that_depends_on_what_is_tuned_becomes_a_function(body, grid, call):
    text = autotuned(HOST.format(body=body), [Plan("k", ("n",), {"BLOCK": (64, 128)})])
    assert f"k[{grid}]{call}" in text


def test_the_first_twenty_have_every_block():
    for plans in PLANS.values():
        for plan in plans:
            for name, sizes in plan.blocks.items():
                if not plan.first:
                    assert {blocks[name] for blocks, _, _ in plan.configurations()[:MOST]} == set(sizes), plan.kernel


def test_a_text_that_the_plan_does_not_fit_is_said():
    with pytest.raises(UntunableError, match="no kernel"):
        autotuned("x = 1", [Plan("k", ())])
    with pytest.raises(UntunableError, match="no parameter"):
        autotuned(HOST.format(body="pass"), [Plan("k", (), {"B": (1,)})])
    with pytest.raises(UntunableError, match="launched nowhere"):
        autotuned(HOST.format(body="pass"), [Plan("k", ("n",))])

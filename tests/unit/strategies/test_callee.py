"""What stands before a launch's grid, by the names that a file imports."""

from __future__ import annotations

import ast

import pytest

from kernelband.strategies.code.callee import stands_for
from kernelband.strategies.code.module import Module


@pytest.mark.parametrize(
    ("imported", "called", "is_it"),
    [
        ("from kernels import scale", "scale", True),
        ("from kernels import scale as fast", "fast", True),
        ("from kernels import other as scale", "scale", False),
        ("from kernels import other as fast", "fast", False),
        ("import kernels", "kernels.scale", True),
        ("import kernels as k", "k.scale", True),
        ("import kernels as k", "kernels.scale", False),
        ("import kernels", "table.scale", False),
    ],
)
def test_an_imported_name_stands_for_what_it_is_called_where_it_comes_from(imported: str, called: str, is_it: bool) -> None:
    module = Module.read("host.py", f"{imported}\n\n\ndef run(x):\n    {called}[(1,)](x)\n")
    assert module is not None
    launch = next(node.value for node in ast.walk(module.tree) if isinstance(node, ast.Subscript))
    assert stands_for(module, launch, launch, "scale") is is_it


@pytest.mark.parametrize(
    ("made", "is_it"),
    [
        ("scale = triton.jit(scale)", True),
        ("scale = jit(scale)\nscale = triton.heuristics({'E': even})(scale)", True),
        ("scale = triton.autotune(configs, key=['n'])(scale)", True),
        ("scale = traced(scale)", False),
        ("scale = triton.jit(other)", False),
        ("scale = triton.jit(scale)\nscale = other", False),
        ("scale = triton.jit(scale, debug=True)", False),
    ],
)
def test_a_kernel_that_calls_make_keeps_its_name(made: str, is_it: bool) -> None:
    module = Module.read("host.py", f"def scale(x):\n    pass\n\n\n{made}\n\n\ndef run(x):\n    scale[(1,)](x)\n")
    assert module is not None
    launch = next(n.value for n in ast.walk(module.tree) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple))
    assert stands_for(module, launch, launch, "scale") is is_it

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

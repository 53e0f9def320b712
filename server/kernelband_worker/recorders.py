"""Recorders: a decorator put innermost on chosen functions, in the syntax tree, before the module runs.

In the tree rather than on the module's attributes, so that every way to the function is seen: names imported before, methods,
static methods (below ``@staticmethod``), functions made inside functions. Line numbers stay as they are.
"""

from __future__ import annotations

import ast
from typing import Collection, Set, Union

#: Lives in the recorded module's builtins, so that no name of the user's is taken. Ends in two underscores: never mangled in a class.
RECORD = "__kernelband_record__"


def place(tree: ast.Module, qualnames: Collection[str]) -> Set[str]:
    """Put ``@__kernelband_record__("QUALNAME")`` on those functions.

    Returns:
        The qualnames that were found.
    """
    placed: Set[str] = set()

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                qualname = prefix + child.name
                visit(child, f"{qualname}.<locals>.")
                if qualname in qualnames:
                    child.decorator_list.append(_decorator(child, qualname))
                    placed.add(qualname)
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(tree, "")
    return placed


def _decorator(function: Union[ast.FunctionDef, ast.AsyncFunctionDef], qualname: str) -> ast.expr:
    # On the line of ``def``: the code's first line, which inspect.getsource goes by, stays that of the first decorator or of ``def``.
    call = ast.Call(func=ast.Name(id=RECORD, ctx=ast.Load()), args=[ast.Constant(value=qualname)], keywords=[])
    for node in ast.walk(call):
        ast.copy_location(node, function)
        if isinstance(node, (ast.expr,)):
            node.end_lineno, node.end_col_offset = function.lineno, function.col_offset
    return call

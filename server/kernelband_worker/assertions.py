"""Assertions that a module makes while it is run, in its own statements or those of its tests: where only a sample of a launch's programs
was run, what they check was never computed, and what follows one that fails is run all the same.

In the syntax tree, so that the statements after it run as they do where it holds. Line numbers stay as they are.
"""

from __future__ import annotations

import ast
from typing import List

#: Lives in the module's builtins, so that no name of the user's is taken: whether an assertion that fails says nothing.
PASSED_OVER = "__kernelband_passed_over__"
_BODIES = ("body", "orelse", "finalbody")


def guard(tree: ast.Module) -> bool:
    """Put each ``assert`` and each call among the module's own statements and its tests', also of an ``if`` or a loop, into a ``try`` that
    asks. Other functions stay as they are: what they raise comes out of the statement that calls them. Whether there was one.
    """
    return _guard(tree)


def _guard(node: ast.AST) -> bool:
    found = False
    for name in _BODIES:
        body: List[ast.stmt] = getattr(node, name, None) or []
        for at, statement in enumerate(body):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found |= statement.name.lstrip("_").startswith("test") and _guard(statement)
            elif isinstance(statement, ast.ClassDef):
                methods: List[ast.stmt] = [m for m in statement.body if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))]
                found |= _guard(ast.Module(methods, []))
            elif isinstance(statement, ast.Assert) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
                body[at] = _asking(statement)
                found = True
            elif not isinstance(statement, ast.With) or not any(_wants_error(item.context_expr) for item in statement.items):
                found |= _guard(statement)
    for handler in getattr(node, "handlers", ()):
        found |= _guard(handler)
    return found


def _wants_error(context: ast.expr) -> bool:
    """``pytest.raises(...)``, ``self.assertRaises(...)``: what is in there must fail."""
    called = context.func if isinstance(context, ast.Call) else context
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name.lower().endswith(("raises", "raisesregex"))


def _asking(statement: ast.stmt) -> ast.stmt:
    asked = ast.Call(func=ast.Name(id=PASSED_OVER, ctx=ast.Load()), args=[], keywords=[])
    fails = ast.If(test=ast.UnaryOp(op=ast.Not(), operand=asked), body=[ast.Raise(exc=None, cause=None)], orelse=[])
    handler = ast.ExceptHandler(type=ast.Name(id="AssertionError", ctx=ast.Load()), name=None, body=[fails])
    made = ast.Try(body=[statement], handlers=[handler], orelse=[], finalbody=[])
    for node in (made, *ast.walk(handler)):
        ast.copy_location(node, statement)
    return made

"""Python's own parser, for one thread at a time.

Up to 3.11.7 two threads that build trees at once may get SystemError: https://github.com/python/cpython/issues/106905
"""

from __future__ import annotations

import ast
import threading

_ONE = threading.RLock()  # what the garbage collector calls in between may parse, too


def syntax_tree(text: str) -> ast.Module:
    """As ``ast.parse``; the text must not begin with a byte order mark.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: of ``ast.parse``.
    """
    with _ONE:
        return ast.parse(text)


def expression_tree(text: str) -> ast.Expression:
    """The same of a text that is one expression."""
    with _ONE:
        return ast.parse(text, mode="eval")

"""Python's own parser, for one thread at a time, and parso's grammar, which is made with it.

Up to 3.11.7 two threads that build trees at once may get SystemError: https://github.com/python/cpython/issues/106905
"""

from __future__ import annotations

import ast
import threading
from functools import cache
from typing import Any, cast

from parso.grammar import load_grammar

GRAMMAR = "3.13"  # the newest that every supported parso reads; older code parses under it
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


def all_nodes(node: ast.AST) -> list[ast.AST]:
    """What ``ast.walk`` goes through, in its order and in less than half of its time: moves ask for nothing as often."""
    found = [node]
    for at in found:
        for name in at._fields:
            value = getattr(at, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found.extend(part for part in cast("list[object]", value) if isinstance(part, ast.AST))
    return found


@cache
def tolerant_grammar() -> Any:
    """Parso's grammar, without types. It asks ``ast`` for each of its own words when it is made, and for none afterwards."""
    with _ONE:
        return cast("Any", load_grammar(version=GRAMMAR))

"""Whether Python would take a text: asked before a run, never while someone types."""

from __future__ import annotations

import warnings

from kernelband.errors import SourceError
from kernelband.source.syntax import syntax_tree, tolerant_grammar
from kernelband.source.tree import BOM, parse


def require_parsable(text: str, path: str) -> None:
    """Refuse text that isn't Python.

    Both this Python's parser and the error-tolerant one must refuse it: either may be older than the Python that the user runs.

    Raises:
        SourceError: with file, line and the parser's word for it.
    """
    fault = _refused(text)
    if fault is None:
        return
    if not list(tolerant_grammar().iter_errors(parse(text))):
        return
    line, message = fault
    where = f"line {line} of {path}" if line else path
    raise SourceError(f"There is a syntax error in {where} ({message}): fix it, then run again.")


def _refused(text: str) -> tuple[int, str] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is the user's business
        try:
            syntax_tree(text.removeprefix(BOM))
        except SyntaxError as error:
            return error.lineno or 0, error.msg
        except (ValueError, RecursionError, MemoryError) as error:
            return 0, str(error) or "nested too deeply"
    return None

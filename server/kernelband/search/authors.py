"""The author that a run asks for, and what a model cost it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelband.errors import UsageError
from kernelband.propose import Author, Both, ModelAuthor, Rewriter
from kernelband.search.options import Options


def make_author(options: Options, tell: Callable[[str], None], left: Callable[[], float], spent: Mapping[str, Any]) -> Author:
    """The author of the options.

    Args:
        options: ``author``, and ``model`` where that is one.
        tell: hears what a person should know.
        left: seconds left of the run.
        spent: what earlier processes of the run spent (``spending``).

    Raises:
        UsageError: a model is asked for and none is named.
    """
    if options.author == "rewriter":
        return Rewriter()
    if options.model is None:
        raise UsageError("No model is named: give --model NAME, or set KERNELBAND_MODEL.")
    model = ModelAuthor(options.model, tell, left, alone=options.author == "model")
    model.spending.calls = int(spent.get("calls", 0))
    model.spending.read, model.spending.written = int(spent.get("read", 0)), int(spent.get("written", 0))
    return model if options.author == "model" else Both(model, Rewriter())


def model_of(author: Author | None) -> ModelAuthor | None:
    """The model that is asked, if one is."""
    found = author.model if isinstance(author, Both) else author
    return found if isinstance(found, ModelAuthor) else None


def close(author: Author | None) -> None:
    """Nobody waits any more for what a model would have said."""
    model = model_of(author)
    if model is not None:
        model.close()


def spending(author: Author | None) -> dict[str, Any]:
    """For the run's row; empty where no model was asked."""
    model = model_of(author)
    if model is None or not model.spending.calls:
        return {}
    s = model.spending
    return {"calls": s.calls, "read": s.read, "written": s.written, "dollars": s.dollars, "text": f"{model.settings.name}: {s.text()}"}

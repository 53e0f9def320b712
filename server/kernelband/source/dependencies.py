"""The host assignments that a launch depends on: from the names in its grid and arguments back to where they get their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from parso.tree import NodeOrLeaf

from kernelband.source.model import Assignment, Expression, Span
from kernelband.source.scopes import Binding, Scopes
from kernelband.source.tree import ancestors, children, expression, node_span, read_names, trimmed_span

BINDING = ("assign", "augment", "loop", "with")
LOOPS = ("for_stmt", "while_stmt")


def assignments(names: Iterable[str], at: NodeOrLeaf, known: Scopes) -> tuple[Assignment, ...]:
    """What gives ``names`` their values at ``at``, transitively, in source order.

    Looks in the host function, the functions around it and the module's constants. Of the host's own statements those count that come
    before the launch or share a loop with it. A nested function (a grid, say) counts as the assignment of its name. Parameters, imports
    and module-level functions end the chain.
    """
    start = node_span(at, known.text).start
    loops = {id(a) for a in ancestors(at) if a.type in LOOPS}
    host = next((id(a) for a in ancestors(at) if a.type in ("funcdef", "file_input")), 0)
    found: dict[tuple[int, str], Assignment] = {}
    queue = [(name, at) for name in names]
    seen: set[tuple[str, int]] = set()
    while queue:
        name, place = queue.pop()
        bindings = known.lookup(name, place)
        key = (name, id(bindings[0].scope) if bindings else 0)
        if key in seen:
            continue
        seen.add(key)
        for binding in bindings:
            late = id(binding.scope) == host and node_span(binding.statement, known.text).start > start
            if late and not any(id(a) in loops for a in ancestors(binding.statement)):
                continue
            made = _assignment(binding, known)
            if made is not None:
                found[made.span.start, name] = made
                queue += [(n, binding.statement) for n in made.value.names if n != name]
    return tuple(found[key] for key in sorted(found))


def _assignment(binding: Binding, known: Scopes) -> Assignment | None:
    text = known.text
    if binding.kind in BINDING and binding.value is not None:
        span = trimmed_span(binding.statement, text)
        if binding.kind == "loop":
            span = Span(span.start, node_span(binding.value, text).end)
        return Assignment(binding.name, span, expression(binding.value, text))
    if binding.kind == "def" and binding.scope.type == "funcdef":
        span = trimmed_span(binding.statement, text)
        return Assignment(binding.name, span, Expression(text[span.start : span.end], span, read_names(binding.statement)))
    return None


def parameters(function: NodeOrLeaf) -> list[str]:
    """The names of a function's parameters."""
    return [cast("str", p.name.value) for p in cast("list[Any]", cast("Any", function).get_params())] if children(function) else []

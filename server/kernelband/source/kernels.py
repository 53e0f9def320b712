"""The kernels of one text: ``@triton.jit`` functions in all their spellings and what ``triton.jit(f)`` makes, whole or mid-edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from attrs import evolve, frozen
from parso.tree import NodeOrLeaf

from kernelband.source import decorators
from kernelband.source.chunks import Chunk
from kernelband.source.decorators import unquoted
from kernelband.source.made import Made, made
from kernelband.source.model import Kernel, Parameter, Place, Span
from kernelband.source.recovery import Tokens, expression_at, loose_parameters, may_have_lost_decorators
from kernelband.source.scopes import Scopes, absolute, dotted_chain, qualname, scopes
from kernelband.source.tree import ancestors, children, code, expression, line_column, node_span, statements, trimmed_span, value, walk

WORD = re.compile(r"\w+")


@frozen(eq=False)
class Definition:
    """A function as found: proper or put together again from what is left of it."""

    at: NodeOrLeaf  # where its decorators are looked up: the funcdef, or ``def`` when there is none
    name: NodeOrLeaf
    header: NodeOrLeaf  # a funcdef whose parameters are those of the function
    body: Span
    expressions: tuple[NodeOrLeaf, ...]  # of the decorators
    span: Span
    qualname: str


@lru_cache(maxsize=256)
def find_kernels(path: str, text: str) -> tuple[Kernel, ...]:
    """The ``@triton.jit`` functions of ``text``, in source order, with the helper jit functions of the same text that each one calls.

    Reads broken text too: intact kernels are found, and the one being edited while its decorators and ``def`` line stand. Never raises.
    """
    return kernels_of(path, scopes(text)) if may_have_kernels(text) else ()


def may_have_kernels(text: str) -> bool:
    """Whatever ``triton.jit`` is called, it was imported or written as something with jit in its name."""
    return "jit" in text.lower()


def kernels_of(path: str, known: Scopes) -> tuple[Kernel, ...]:
    """``find_kernels`` of a text whose bindings are read already."""
    found: list[Kernel] = []
    calls = {id(m.function): m for m in made(known)}
    around: dict[int, NodeOrLeaf] = {id(known.module): known.module}  # whose names the kernels see
    for definition in (*_definitions(known, calls), *(_called(m, known.text) for m in calls.values())):
        read = decorators.read(list(definition.expressions), known, definition.at, known.text)
        if read.jit:
            found.append(_kernel(path, definition, read, known.text))
            around |= {id(a): a for a in ancestors(definition.at) if a.type == "funcdef"}
    found = _apart(sorted(found, key=lambda k: k.span.start) if calls else found, known.text)
    heads = _heads(found, known.aliases(around.values()))
    return tuple(evolve(k, helpers=_helpers(k, found, known, heads)) for k in found)


def _called(made_: Made, text: str) -> Definition:
    """A plain function that a call makes a kernel of. Decorators of its own are part of it, but say nothing of Triton."""
    node = made_.function
    outer = node.parent if node.parent is not None and node.parent.type == "decorated" else node
    name = cast("NodeOrLeaf", cast("Any", node).name)
    span = Span(node_span(outer, text).start, trimmed_span(node, text).end)
    return Definition(node, name, node, body_span(node, text), tuple(made_.wraps), span, qualname(node))


def _definitions(known: Scopes, calls: Mapping[int, Made]) -> Iterator[Definition]:
    """The decorated functions of a text, but for those that calls make kernels of."""
    text = known.text
    broken = any(c.broken for c in known.chunks)
    tokens: Tokens | None = None
    for node in _telling(known.chunks):
        if node.type == "funcdef" and id(node) not in calls:
            keyword, outer = children(node)[0], node
            name = cast("NodeOrLeaf", cast("Any", node).name)
            if node.parent is not None and node.parent.type == "decorated":
                outer = node.parent
                first = children(outer)[0]
                stack = children(first) if first.type == "decorators" else [first]
                expressions = [children(d)[1] for d in stack if d.type == "decorator" and len(children(d)) > 1]
                start = node_span(outer, text).start
            elif broken and may_have_lost_decorators(keyword, text):
                tokens = tokens or Tokens(known.module, text)
                expressions, start = _recovered(tokens, keyword, text)
            else:
                continue
            span = trimmed_span(node, text)
            yield Definition(node, name, node, body_span(node, text), tuple(expressions), Span(start, span.end), qualname(node))
        elif broken and value(node) == "def" and node.type == "keyword" and node.parent is not None and node.parent.type != "funcdef":
            loose = loose_parameters(node, text)
            if loose is None:
                continue
            name, header, end = loose
            tokens = tokens or Tokens(known.module, text)
            expressions, start = _recovered(tokens, node, text)
            body = node_span(end, text).end
            stop = tokens.block_end(node, body)
            outside = [a for a in ancestors(node) if a.type in ("funcdef", "classdef")]
            prefix = (qualname(outside[0]) + (".<locals>." if outside[0].type == "funcdef" else ".")) if outside else ""
            yield Definition(node, name, header, Span(body, stop), tuple(expressions), Span(start, stop), prefix + value(name))


def _telling(chunks: list[Chunk]) -> Iterator[NodeOrLeaf]:
    """The statements of all chunks that may hold a decorated function, or of whose functions the decorators may have been lost."""
    broken = any(c.broken for c in chunks)
    lost = False
    for chunk in chunks:
        telling = chunk.broken or "@" in chunk.text
        if telling or lost:
            yield from statements(chunk.node, chunk.text)
        if chunk.node.type != "newline":
            lost = broken and telling


def _recovered(tokens: Tokens, keyword: NodeOrLeaf, text: str) -> tuple[list[NodeOrLeaf], int]:
    spans = tokens.decorators(keyword)
    expressions = [e for e in (expression_at(text, s) for s in spans) if e is not None]
    return expressions, spans[0].start - 1 if spans else node_span(keyword, text).start


def body_span(function: NodeOrLeaf, text: str) -> Span:
    """From the first statement of a function to the end of its last one, newline left out."""
    body = children(function)[-1]
    inside = [c for c in children(body) if c.type != "newline"] if body.type == "suite" else [body]
    end = trimmed_span(body, text).end
    return Span(min(node_span(inside[0], text).start, end) if inside else end, end)


def _kernel(path: str, found: Definition, read: decorators.Decoration, text: str) -> Kernel:
    name = node_span(found.name, text)
    return Kernel(
        place=Place(path, found.qualname),
        span=found.span,
        name_span=name,
        body=found.body,
        parameters=tuple(_parameters(found.header, text)),
        decorators=tuple(expression(e, text) for e in found.expressions),
        configs=read.configs,
        autotuned=read.autotuned,
        heuristics=read.heuristics,
        line=line_column(text, name.start)[0],
    )


def _parameters(header: NodeOrLeaf, text: str) -> Iterator[Parameter]:
    for node in cast("list[NodeOrLeaf]", cast("Any", header).get_params()):
        parts = [c for c in children(node) if value(c) != ","]
        if not parts:
            continue
        annotation = cast("NodeOrLeaf | None", cast("Any", node).annotation)
        default = cast("NodeOrLeaf | None", cast("Any", node).default)
        written = None if annotation is None else unquoted(value(annotation)) if annotation.type == "string" else code(annotation)
        yield Parameter(
            name=value(cast("NodeOrLeaf", cast("Any", node).name)),
            span=Span(node_span(parts[0], text).start, node_span(parts[-1], text).end),
            constexpr=written is not None and written.rpartition(".")[2].strip() == "constexpr",
            annotation=written,
            default=None if default is None else code(default),
        )


def _apart(kernels: list[Kernel], text: str) -> list[Kernel]:
    """Where an unclosed bracket made one kernel run into the next, end it before the next one's decorators."""
    out: list[Kernel] = []
    for kernel in kernels:
        inside = kernel.place.qualname + "."
        cuts = [
            k.span.start
            for k in kernels
            if kernel.span.start < k.span.start < kernel.span.end and not k.place.qualname.startswith(inside) and k.place != kernel.place
        ]
        if cuts:
            end = len(text[: min(cuts)].rstrip())
            body = Span(min(kernel.body.start, end), min(kernel.body.end, end))
            out.append(evolve(kernel, span=Span(kernel.span.start, end), body=body))
        else:
            out.append(kernel)
    return out


def references(function: NodeOrLeaf, known: Scopes) -> list[str]:
    """What a function's body names, as ``scopes.absolute`` writes it, attribute chains whole, in order of first use."""
    out: dict[str, None] = {}
    for node in walk(children(function)[-1]):
        if node.type != "name" or node.parent is None or (node.parent.type == "trailer" and value(children(node.parent)[0]) == "."):
            continue
        if node.parent.type == "argument" and children(node.parent)[0] is node and len(children(node.parent)) == 3:
            continue
        chain = [node]
        if node.parent.type == "atom_expr" and children(node.parent)[0] is node:
            for trailer in children(node.parent)[1:]:
                if dotted_chain([*chain, trailer]) is None:
                    break
                chain.append(trailer)
        for name in absolute(dotted_chain(chain) or value(node), node, known):
            out.setdefault(name)
    return list(out)


def definition(known: Scopes, qualname: str) -> NodeOrLeaf | None:
    """The funcdef of a qualname, when it stands in the tree."""
    found = [b for b in known.member(qualname) if b.kind == "def"]
    return found[-1].statement if found else None


def _heads(kernels: list[Kernel], dotted: list[tuple[str, str]]) -> frozenset[str]:
    """The names that a reference to one of the kernels may start with: their own, their classes', and aliases of these.

    A kernel's own aliases aren't needed: what they stand for is in its text too.
    """
    heads = {part for k in kernels for part in k.place.qualname.split(".")}
    aliases = [(name, target.partition(".")[0]) for name, target in dotted]
    grown = True
    while grown:
        more = {name for name, target in aliases if target in heads} - heads
        heads |= more
        grown = bool(more)
    return frozenset(heads)


def _helpers(kernel: Kernel, all_: list[Kernel], known: Scopes, heads: frozenset[str]) -> tuple[Place, ...]:
    """Jit functions of the same text that the kernel calls, directly or through others, in source order."""
    by_name = {":" + k.place.qualname: k for k in all_}
    seen: set[str] = set()
    queue = [kernel]
    while queue:
        node = definition(known, queue.pop().place.qualname)
        body = body_span(node, known.text) if node is not None else Span(0, 0)
        if node is None or heads.isdisjoint(WORD.findall(known.text, body.start, body.end)):
            continue  # told from the characters, which is much faster than from the tree
        for name in references(node, known):
            if name in by_name and name not in seen and by_name[name] is not kernel:
                seen.add(name)
                queue.append(by_name[name])
    return tuple(k.place for k in all_ if ":" + k.place.qualname in seen)

"""What stands above a kernel: jit, autotune with its configs, heuristics."""

from __future__ import annotations

from attrs import frozen
from parso.tree import NodeOrLeaf

from kernelband.source.model import Config, Expression
from kernelband.source.scopes import Scopes, absolute, dotted_chain, dotted_name
from kernelband.source.tree import ancestors, children, expression, node_span, value, walk

TRITON = ("triton", "triton.runtime", "triton.runtime.jit", "triton.runtime.autotuner")
JIT = frozenset(f"{m}.jit" for m in TRITON) | {"triton.runtime.jit.JITFunction", "triton.runtime.JITFunction", "triton.JITFunction"}
AUTOTUNE = frozenset(f"{m}.autotune" for m in TRITON)
HEURISTICS = frozenset(f"{m}.heuristics" for m in TRITON)
CONFIG = frozenset(f"{m}.Config" for m in TRITON)
PARTIAL = frozenset({"functools.partial", "partial"})
#: What a config, a launch or ``Config(...)`` may set beside the kernel's own parameters.
OPTIONS = frozenset(
    {
        "num_warps",
        "num_stages",
        "num_ctas",
        "maxnreg",
        "num_buffers_warp_spec",
        "num_consumer_groups",
        "reg_dec_producer",
        "reg_inc_consumer",
    }
    | {"waves_per_eu", "matrix_instr_nonkdim", "kpack", "enable_fp_fusion", "launch_cooperative_grid", "ir_override", "minRegAutoWS"}
)


@frozen
class Decoration:
    """The decorators of one function, read."""

    jit: bool
    autotuned: bool
    configs: tuple[Config, ...]
    heuristics: tuple[str, ...]


def called(node: NodeOrLeaf) -> tuple[NodeOrLeaf | None, list[NodeOrLeaf]]:
    """The dotted function part of ``f(...)`` as its nodes' parent, and the argument nodes; (node, []) of a plain name."""
    inside = children(node)
    if node.type == "atom_expr" and inside[-1].type == "trailer" and value(children(inside[-1])[0]) == "(":
        return node, arguments(inside[-1])
    return node, []


def arguments(trailer: NodeOrLeaf) -> list[NodeOrLeaf]:
    """The argument nodes between the parentheses of a call."""
    inside = children(trailer)[1:]
    if inside and value(inside[-1]) == ")":
        inside = inside[:-1]
    if len(inside) == 1 and inside[0].type == "arglist":
        inside = children(inside[0])
    return [c for c in inside if value(c) != ","]


def keyword(argument: NodeOrLeaf) -> tuple[str | None, NodeOrLeaf]:
    """(name, value) of ``name=value``, ("*" or "**", value) of unpacked ones, (None, node) of a positional argument."""
    inside = children(argument)
    if argument.type == "argument" and len(inside) == 3 and value(inside[1]) == "=":
        return value(inside[0]), inside[2]
    if argument.type == "argument" and len(inside) == 2 and value(inside[0]) in ("*", "**"):
        return value(inside[0]), inside[1]
    return None, argument


def callee(node: NodeOrLeaf) -> str | None:
    """``a.b`` of ``a.b`` and of ``a.b(...)``."""
    inside = children(node)
    if node.type == "atom_expr" and inside[-1].type == "trailer" and value(children(inside[-1])[0]) == "(":
        return dotted_chain(inside[:-1])
    return dotted_name(node)


def stands_for(node: NodeOrLeaf, known: Scopes, at: NodeOrLeaf) -> frozenset[str]:
    """The absolute names that a decorator or callee may mean, ``functools.partial(triton.jit, ...)`` and its aliases included."""
    name = callee(node)
    return means(name, called(node)[1], known, at) if name is not None else frozenset()


def means(name: str, given: list[NodeOrLeaf], known: Scopes, at: NodeOrLeaf) -> frozenset[str]:
    """As ``stands_for``, of a dotted name at ``at`` that is called with ``given``."""
    names = frozenset(absolute(name, at, known))
    if not known.lookup(name.partition(".")[0], at):
        names |= {f"{module}.{name}" for module in known.stars if module in TRITON}
    if names & PARTIAL:
        return stands_for(given[0], known, at) if given else frozenset()
    for binding in known.lookup(name, at) if "." not in name else []:
        if binding.kind == "assign" and binding.value is not None and binding.value.type == "atom_expr" and not _inside(at, binding.value):
            names |= stands_for(binding.value, known, binding.value) if _is_partial(binding.value, known) else frozenset()
    return names


def _inside(node: NodeOrLeaf, outer: NodeOrLeaf) -> bool:
    return node is outer or any(a is outer for a in ancestors(node))


def _is_partial(node: NodeOrLeaf, known: Scopes) -> bool:
    name = callee(node)
    return name is not None and called(node)[1] != [] and bool(frozenset(absolute(name, node, known)) & PARTIAL)


def read(expressions: list[NodeOrLeaf], known: Scopes, at: NodeOrLeaf, text: str) -> Decoration:
    """What the decorator expressions of the function at ``at`` say. ``text`` is the text that their positions are of."""
    jit = autotuned = False
    configs: list[Config] = []
    heuristics: list[str] = []
    for node in expressions:
        names = stands_for(node, known, at)
        jit = jit or bool(names & JIT)
        given = _argument(called(node)[1], "configs", 0)
        if names & AUTOTUNE:
            autotuned = True
            configs += _configs(given, known, at, text) if given is not None else []
        elif given is not None and not names & (JIT | HEURISTICS):  # a project's own autotune around Triton's
            wrapped = _configs(given, known, at, text)
            autotuned = autotuned or bool(wrapped) or any(keyword(a)[0] == "configs" for a in called(node)[1])
            configs += wrapped
        if names & HEURISTICS:
            given = _argument(called(node)[1], "values", 0)
            if given is not None:
                heuristics += _keys(given, known, at)
    return Decoration(jit, autotuned, tuple(configs), tuple(dict.fromkeys(heuristics)))


def _argument(given: list[NodeOrLeaf], name: str, position: int) -> NodeOrLeaf | None:
    pairs = [keyword(a) for a in given]
    named = [v for k, v in pairs if k == name]
    positional = [v for k, v in pairs if k is None]
    return named[0] if named else positional[position] if len(positional) > position else None


def _configs(node: NodeOrLeaf, known: Scopes, at: NodeOrLeaf, text: str, depth: int = 4) -> list[Config]:
    """The ``triton.Config(...)`` written in a list, a comprehension, a variable or a function of the same text."""
    own = [c for c in (_config(n, known, at, text) for n in walk(node) if n.type == "atom_expr") if c is not None]
    if own or not depth:
        return own
    for leaf in walk(node):
        if leaf.type != "name":
            continue
        for binding in known.lookup(value(leaf), at):
            source = binding.value if binding.kind == "assign" else binding.statement if binding.kind == "def" else None
            if source is not None and not (node_span(source, text).start <= node_span(node, text).start < node_span(source, text).end):
                own += _configs(source, known, source, text, depth - 1)
    return own


def _config(node: NodeOrLeaf, known: Scopes, at: NodeOrLeaf, text: str) -> Config | None:
    name = callee(node)
    inside = children(node)
    if name is None or value(children(inside[-1])[0]) != "(" or not frozenset(absolute(name, at, known)) & CONFIG:
        return None
    constants: dict[str, Expression] = {}
    options: dict[str, Expression] = {}
    for key, given in [keyword(a) for a in arguments(inside[-1])]:
        if key in (None, "kwargs"):
            constants.update({k: expression(v, text) for k, v in dictionary(given)})
        elif key not in ("*", "**"):
            options[str(key)] = expression(given, text)
    return Config(node_span(node, text), constants, options)


def dictionary(node: NodeOrLeaf) -> list[tuple[str, NodeOrLeaf]]:
    """The items with string keys of ``{"a": x}`` or ``dict(a=x)``."""
    inside = children(node)
    if node.type == "atom_expr" and callee(node) == "dict":
        return [(k, v) for k, v in map(keyword, arguments(inside[-1])) if k is not None and not k.startswith("*")]
    if node.type != "atom" or len(inside) != 3 or value(inside[0]) != "{":
        return []
    parts = children(inside[1]) if inside[1].type == "dictorsetmaker" else []
    out: list[tuple[str, NodeOrLeaf]] = []
    for i, part in enumerate(parts):
        if value(part) == ":" and i and i + 1 < len(parts) and parts[i - 1].type == "string":
            out.append((unquoted(value(parts[i - 1])), parts[i + 1]))
    return out


def unquoted(literal: str) -> str:
    """What is between the quotes of a plain string literal."""
    body = literal.lstrip("rRuUbB")
    quote = body[:3] if body[:3] in ('"""', "'''") else body[:1]
    return body[len(quote) : len(body) - len(quote)]


def _keys(node: NodeOrLeaf, known: Scopes, at: NodeOrLeaf) -> list[str]:
    items = dictionary(node)
    if items or node.type != "name":
        return [k for k, _ in items]
    return [k for b in known.lookup(value(node), at) if b.kind == "assign" and b.value is not None for k, _ in dictionary(b.value)]

"""``resident_programs``: several programs for each multiprocessor where the host function counts the multiprocessors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, LaunchView, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import dependent, reads
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.module import FunctionNode, Module
from kernelband.strategies.code.view import moving
from kernelband.strategies.code.wrapped import helpers_ask
from kernelband.strategies.reordering.ids import NAME, waits

TIMES = (2, 4, 8)
RANDOM = frozenset({"rand", "randn", "randint", "rand4x", "randn4x", "randint4x", "philox"})  # of programs' numbers, perhaps
MOST = 16  # programs for each multiprocessor: 2,048 threads are 64 warps
#: What helpers that ask a driver are called: ``get_sm_count``, ``num_sms``; ``sm`` alone may be anything.
COUNT = re.compile(r"(?i)^(get_?)?(num_?|n_?)?(sms?|(multi_?processors?))(_?(count|num))?$")
ALONE = re.compile(r"(?i)^(get_?)?sm$")


class ResidentPrograms:
    """A kernel that has one program for each multiprocessor gets two, four or eight. What is right on any GPU is right for any number of
    multiprocessors: each place of the host function that asks for their number gets the multiple.
    """

    name = "resident_programs"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view, multiprocessors = at.view, at.view.facts.device.multiprocessors
    counted = [_counts(x) for x in view.launches]
    programs = view.programs()
    if not counted or not all(counted) or not programs or waits(view) or max(programs) % multiprocessors:
        return
    if (
        view.kernel.calls(RANDOM)
        or helpers_ask(view.program, view.modules, RANDOM)
        or _handed_on(view, [n for nodes in counted for n in nodes])
    ):
        return
    each = max(programs) // multiprocessors
    for times in (n for n in TIMES if n * each <= MOST):
        edits: Edits = []
        for launch, nodes in zip(view.launches, counted, strict=True):
            edits += [(launch.module.path, _edit(launch.module, n, times)) for n in nodes]
        yield at.proposal(
            {"times": times},
            edits,
            "reassociates",  # what programs leave of a sum each, the host function adds up
            f"{each * times} programs for each multiprocessor instead of {each}: the host function counts each {times} times.",
            f"{max(programs)} programs of {view.option('num_warps', 4)} warps are few for {multiprocessors} multiprocessors: "
            "while one waits for memory, another can compute.",
        )


def _counts(launch: LaunchView) -> list[ast.expr]:
    """Where the host function asks for the number of multiprocessors; nothing if its grid isn't made of that, or if a function that it
    calls, or that calls it, asks for it too: what they make together would no longer fit.
    """
    host = launch.host
    if host is None:
        return []
    found = [n for n in all_nodes(host) if isinstance(n, ast.expr) and _is_count(launch, n)]
    grid = set(launch.grid_nodes())
    others = [f for f in all_nodes(launch.module.tree) if isinstance(f, FunctionNode) and f is not host and not _names_it(f.name)]
    beside = [f for f in others if _calls(host, f.name) or _calls(f, host.name)]
    if any(isinstance(n, ast.expr) and _is_count(launch, n) for f in beside for n in all_nodes(f)):
        return []
    return found if any(n in grid for n in found) else []


def _handed_on(view: View, counts: list[ast.expr]) -> bool:
    """The number, or what is made of it, goes to another kernel, which may have room for so many only."""
    own = [x.call for x in view.launches]
    for host in {x.host or x.module.tree for x in view.launches}:
        steps = [n for n in all_nodes(host) if isinstance(n, ast.Assign)]
        made = dependent(steps, {name for s in steps if set(counts) & set(all_nodes(s.value)) for name in bound_names(s)})
        others = [n for n in all_nodes(host) if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript) and n not in own]
        others = [n for n in others if not all(_either(host, n, call) for call in own)]
        given = [x for call in others for x in (*call.args, *(k.value for k in call.keywords))]
        if any(reads(x, made) or set(counts) & set(all_nodes(x)) for x in given):
            return True
    return False


def _either(host: ast.AST, one: ast.AST, other: ast.AST) -> bool:
    """Whether only one of the two is called: they stand in the two branches of a condition."""
    for node in (n for n in all_nodes(host) if isinstance(n, ast.If)):
        sides = [{x for s in side for x in all_nodes(s)} for side in (node.body, node.orelse)]
        if any(one in a and other in b for a, b in (sides, sides[::-1])):
            return True
    return False


def _calls(function: ast.AST, name: str) -> bool:
    called = (n.func for n in all_nodes(function) if isinstance(n, ast.Call))
    return any(name == (c.id if isinstance(c, ast.Name) else getattr(c, "attr", "")) for c in called)


def _is_count(launch: LaunchView, node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name, ctx=ast.Load()):
            return name == "multi_processor_count"
        case ast.Subscript(slice=ast.Constant(value=name), ctx=ast.Load()):
            return name == "multiprocessor_count"
        case ast.Call(func=ast.Name(id=name)):
            return _names_it(name) and not launch.bindings(name)
        case ast.Call(func=ast.Attribute(attr=name)):
            return _names_it(name)
        case ast.Name(id=name, ctx=ast.Load()):
            return _constant(launch, name)
        case _:
            return False


def _names_it(name: str) -> bool:
    return bool(COUNT.match(name)) and not ALONE.match(name)


def _constant(launch: LaunchView, name: str) -> bool:
    """A global of the module that holds the number: bound once, to what asks the driver for it."""
    if launch.bindings(name) or name in launch.host_parameters:
        return False
    bound = [s for s in launch.module.tree.body if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [name]]
    return len(bound) == 1 and not isinstance(bound[0].value, ast.Name) and _is_count(launch, bound[0].value)


def _edit(module: Module, node: ast.expr, times: int) -> Edit:
    """The count, that many times; a number that multiplies it already grows instead."""
    match module.parents.get(node):
        case ast.BinOp(op=ast.Mult(), left=left, right=right) if (number := integer(right if node is left else left)) is not None:
            return module.replace(right if node is left else left, str(times * number))
        case ast.Call(args=alone) if node in alone:
            return module.replace(node, f"{times} * {module.code(node)}")
        case ast.Assign() | ast.keyword() | ast.Tuple():
            return module.replace(node, f"{times} * {module.code(node)}")
        case _:
            return module.replace(node, f"({times} * {module.code(node)})")

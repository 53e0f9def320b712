"""``divisibility_hints``: sizes and strides that 8, 4 or 2 divide say so, where Triton by itself only asks for 16.

Triton specialises an integer argument on "multiple of 16" and on nothing else. With a row of 4104 half-precision numbers (8 x 513) every
access is then one element wide, though 16 bytes would fit. ``n // 8 * 8`` tells the compiler; that 8 divides n is asked at each launch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import gcd

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.heuristic import computed_with, heuristic
from kernelband.strategies.code.view import moving

SEEN = 16  # what Triton finds out by itself


class DivisibilityHints:
    """``stride = stride // DIVISOR * DIVISOR`` with ``DIVISOR`` from ``@triton.heuristics``."""

    name = "divisibility_hints"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("vectorization", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    names = [n for n in _used(view) if _divisor(view.timed(n)) > 1]
    odd = [n for n in names if _divisor(view.timed(n)) < SEEN]
    if not odd or not view.whole or not all(computed_with(view, n) for n in odd):
        return
    common = min(_divisor(view.timed(n)) for n in odd)
    flag = kernel.free_name("DIVISOR")
    each = f'args["{odd[0]}"] % n == 0' if len(odd) == 1 else f"all(args[name] % n == 0 for name in ({', '.join(map(_quoted, odd))}))"
    added = heuristic(view, {flag: f"next(n for n in ({SEEN}, 8, 4, 2, 1) if {each})"})
    first = next((s for s in kernel.node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))), None)
    head = (
        None
        if first is None
        else module.before(
            first,
            [f"# What divides {' and '.join(odd)} decides how wide an access may be.", *(f"{n} = {n} // {flag} * {flag}" for n in odd)],
        )
    )
    if added is None or head is None:
        return
    values = ", ".join(str(v) for v in view.timed(odd[0])[:3])
    yield at.proposal(
        {"names": "+".join(odd)},
        [(module.path, e) for e in [*added, head]],
        view.summation(),  # wider accesses lie in other threads
        f"The compiler is told what divides {' and '.join(odd)}: {common} in the cases.",
        f"{odd[0]} is {values}: a multiple of {common}, but Triton only looks for {SEEN}, so accesses are one element wide.",
    )


def _quoted(name: str) -> str:
    return f'"{name}"'


def _divisor(values: list[int]) -> int:
    """The largest power of two up to 16 that divides all; 1 when nothing is known."""
    return gcd(SEEN, *values) if values and all(v > 1 for v in values) else 1


def _used(view: View) -> list[str]:
    """Integer arguments that addresses or masks of blocks are made of, bound nowhere in the kernel."""
    kernel = view.kernel
    reach: set[str] = set()
    for access in kernel.accesses():
        if access.blocks:
            reach |= access.depends | (kernel.tokens(access.mask) if access.mask is not None else frozenset())
    typed = {a.arg for a in kernel.node.args.args if a.annotation is not None}
    return [n for n in kernel.parameters if n in reach and n not in kernel.constexprs and n not in typed and not kernel.bindings(n)]

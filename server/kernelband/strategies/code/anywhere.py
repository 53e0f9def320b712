"""Whether what the numbers of the cases say of a loop's places holds at other calls, too.

A hop that is as wide as a frame in the cases may be half of it in the next call, and then frames lie over each other. So every number that
the host passes is tried as another one as well. Strides of tensors aren't: they follow from the sizes, and elements of a tensor lie apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import affine
from kernelband.strategies.code.affine import Numbers, known_in
from kernelband.strategies.code.kernel import Loop
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.view import View

OTHERS = (3, 31)  # numbers in another call
_STRIDE = re.compile(r"[\w.]+\.stride\(-?\d+\)")
_SIZE = re.compile(r"[\w.]+\.(shape\[-?\d+\]|size\(-?\d+\))")


def own_places(view: View, loop: Loop) -> bool:
    """No two iterations of the loop store to the same place: in any launch of the cases, nor where a number is another one."""
    return affine.own_places(view, loop) and all(affine.own_places_in(here, loop) for here in _others(view, loop))


def _others(view: View, loop: Loop) -> Iterator[Numbers]:
    kernel = view.kernel
    tokens = frozenset[str]().union(*(kernel.tokens(a.pointer) for a in loop.accesses if a.store))
    strides = _passed(view, _STRIDE, "stride()")
    # Where places are told by strides, another size means other strides, which aren't known.
    tied = strides | (_passed(view, _SIZE, "shape", "size()") if strides & tokens else set[str]())
    blocks = {*kernel.aranges(), *tied}
    for known in known_in(view):
        for name in sorted(known.keys() - blocks):
            for value in {known[name] // 2, known[name] * 2, *OTHERS} - {0, known[name]}:
                yield Numbers(kernel, {**known, name: value})


def _passed(view: View, spelled: re.Pattern[str], *unpacked: str) -> set[str]:
    """Parameters that every launch passes such a number of a tensor for, by name or as it is."""
    found = [{p for p, v in x.arguments.items() if _is_such(x, v, spelled, unpacked)} for x in view.launches]
    return set[str].intersection(*found) if found else set[str]()


def _is_such(launch: LaunchView, node: ast.expr, spelled: re.Pattern[str], unpacked: tuple[str, ...]) -> bool:
    if spelled.fullmatch(ast.unparse(node)):
        return True
    bound = launch.bindings(node.id) if isinstance(node, ast.Name) else []
    if len(bound) != 1 or not isinstance(bound[0], ast.Assign):
        return False
    value = bound[0].value
    if isinstance(bound[0].targets[0], ast.Tuple):
        return isinstance(value, ast.Attribute | ast.Call) and ast.unparse(value).rpartition(".")[2] in unpacked
    return bool(spelled.fullmatch(ast.unparse(value))) and not any(isinstance(n, ast.IfExp) for n in all_nodes(value))

"""Whether what a loop stores can be what it loads: loads that move across stores must not be theirs."""

from __future__ import annotations

import ast

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import paired
from kernelband.strategies.code.blocks import reads
from kernelband.strategies.code.elementwise import is_elementwise
from kernelband.strategies.code.kernel import ATOMICS, Access, KernelView, Loop
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.linear import flatten
from kernelband.strategies.code.names import module_alias
from kernelband.strategies.code.view import View

FRESH = frozenset({"empty", "empty_like", "zeros", "zeros_like", "new_empty", "new_zeros"})
LAYOUT = frozenset({"shape", "size", "stride", "numel", "ndim", "dim", "dtype", "device", "element_size", "is_contiguous", "is_cuda"})
#: Functions of Python's that a kernel may call: they touch no memory.
HARMLESS = frozenset({"range", "min", "max", "abs", "float", "int", "bool", "len"})


def apart(view: View, loop: Loop, loads: list[Access]) -> bool:
    """No iteration can store what one of these loads reads, in this one or another, whatever the host function is called with.

    Either the loop changes no memory, or all that it stores lies in tensors that every host function has just made, and that are passed for
    one parameter only.
    """
    return _apart(view, loop.node.body, [a for a in loop.accesses if a.store], loads)


def all_apart(view: View) -> bool:
    """The same of the whole kernel: nothing that it stores, in whatever program, is what it loads."""
    accesses = view.kernel.accesses()
    return _apart(view, view.kernel.node.body, [a for a in accesses if a.store], [a for a in accesses if not a.store])


def _apart(view: View, body: list[ast.stmt], stores: list[Access], loads: list[Access]) -> bool:
    kernel = view.kernel
    calls = [n for s in body for n in all_nodes(s) if isinstance(n, ast.Call)]
    if any(kernel.tl(n) in ATOMICS or (_unknown(view, n) and not is_elementwise(view, n)) for n in calls):
        return False
    if len(stores) != sum(kernel.tl(n) == "store" or _stores(n) for n in calls):
        return False
    if not stores:
        return True
    read, written = [pointers(view, a) for a in loads], [pointers(view, a) for a in stores]
    if not all((*read, *written)) or not view.whole:
        return False
    stored = frozenset[str]().union(*written)
    return not any(stored & one for one in read) and all(made_here(launch, name) for launch in view.launches for name in stored)


def own_elements(view: View, loop: Loop, block: str) -> bool:
    """What an iteration loads beside what it stores isn't what another one has stored: other memory, or the very same elements."""
    stores, loads = ([a for a in loop.accesses if a.store == kind] for kind in (True, False))
    if not stores or apart(view, loop, loads):
        return True
    pointers = {t for x in view.target_launches for t in x["tensors"]}
    places = {place_of(view.kernel, a, pointers) for a in stores}
    programs = {t for a in stores for t in a.depends if t.startswith("@")}
    own = [a for a in loads if f"#{block}" in a.depends and (programs & a.depends or not programs)]
    return len(places) == 1 and all(place_of(view.kernel, a, pointers) in places for a in own)


def place_of(kernel: KernelView, access: Access, pointers: set[str]) -> str:
    """The address without its tensor, as code; other for each address that isn't a sum with one in it."""
    terms = flatten(kernel, access.pointer, access.call, frozenset())
    rest = [t for t in terms if not (len(t.factors) == 1 and reads(t.factors[0], pointers))]
    return "+".join(sorted("*".join(t.key) for t in rest)) if len(rest) == len(terms) - 1 else f"{access.call.lineno}"


def _unknown(view: View, call: ast.Call) -> bool:
    """A function that may touch memory: no one of the language's, of Python's, nor a method of a block."""
    if view.kernel.is_id(call):
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in {h.place.name for h in view.program.helpers}
    return view.kernel.tl(call) is None and isinstance(call.func, ast.Name) and call.func.id not in HARMLESS


def _stores(call: ast.Call) -> bool:
    """``descriptor.store(...)``, ``tl.store_tensor_descriptor(...)``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr.startswith(("store", "scatter", "atomic")) and call.func.attr != "store"


def pointers(view: View, access: Access) -> frozenset[str]:
    """The parameters whose tensors an access may be of."""
    return frozenset(t for t in view.kernel.tokens(access.pointer) if any(t in x["tensors"] for x in view.target_launches))


def made_here(launch: LaunchView, parameter: str) -> bool:
    """The host function has just made the tensor that it passes, and nothing else that it passes can lie in its memory."""
    value = launch.arguments.get(parameter)
    if not isinstance(value, ast.Name) or launch.host is None:
        return False
    # What stands behind the launch, such as ``y = y.view(...)``, is no matter, but where a loop or a function inside comes back to it.
    host = launch.host
    around = [n for n in launch.module.around(launch.call) if n is not host and n in set(all_nodes(host))]
    again = any(isinstance(n, ast.For | ast.While | ast.Lambda | ast.FunctionDef) for n in around)
    bindings = [b for b in launch.bindings(value.id) if again or b.lineno <= launch.call.lineno]
    if any(isinstance(n, ast.NamedExpr) and n.target.id == value.id for n in all_nodes(host)):
        return False
    if value.id in launch.host_parameters and not any(b in host.body for b in bindings):
        return False  # a caller's, where the way there doesn't bind it
    for bound in bindings:
        given = paired(bound.targets[0], bound.value) if isinstance(bound, ast.Assign) and len(bound.targets) == 1 else ()
        made = next((v for t, v in given if isinstance(t, ast.Name) and t.id == value.id), None)
        if not isinstance(made, ast.Call) or not _makes(launch, made):
            return False
    reads = [n for n in all_nodes(launch.host) if isinstance(n, ast.Name) and n.id == value.id and isinstance(n.ctx, ast.Load)]
    return bool(bindings) and all(
        n is value or _harmless(launch, n) for n in reads if again or n.lineno <= (launch.call.end_lineno or launch.call.lineno)
    )


def _makes(launch: LaunchView, call: ast.Call) -> bool:
    """``torch.empty(...)``, ``x.new_empty(...)``: memory of its own, not that of ``out`` or of somebody's pool."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in FRESH or any(k.arg in (None, "out") for k in call.keywords):
        return False
    return call.func.attr.startswith("new_") or ast.unparse(call.func.value) == module_alias(launch.module.tree, "torch")


def _harmless(launch: LaunchView, name: ast.Name) -> bool:
    """A read that gives nobody the memory: ``y.shape``, ``y.stride(0)``, or an argument of another launch."""
    around = launch.module.parents.get(name)
    if isinstance(around, ast.Attribute):
        return around.attr in LAYOUT
    call = launch.module.parents.get(around) if isinstance(around, ast.keyword) else around
    if not isinstance(call, ast.Call) or call is launch.call or not isinstance(call.func, ast.Subscript):
        return False
    return isinstance(launch.module.parents.get(call), ast.Expr)

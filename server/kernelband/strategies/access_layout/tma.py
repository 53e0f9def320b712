"""What the hardware asks of a tensor that it reads through a descriptor, as facts of the cases and as a check in the host function."""

from __future__ import annotations

import ast
from textwrap import wrap as wrapped

from kernelband.source.syntax import all_nodes
from kernelband.strategies.access_layout.tiles import Tile
from kernelband.strategies.code import LaunchView, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import atom
from kernelband.strategies.code.names import module_alias

ALIGNMENT = 16  # bytes: of the base and of every stride but the last
WIDTH = 110  # of a line of the check


def contiguous(view: View, tile: Tile) -> int | None:
    """The dimension whose elements are neighbours in every case."""
    units = [d for d in (0, 1) if tile.sides[d].stride is None or view.timed(tile.sides[d].stride or "") == [1]]
    return units[0] if len(units) == 1 else None


def outer_strides(tile: Tile, last: int) -> list[str] | None:
    """The strides that must be whole 16 bytes: of the rows, and of what is added to the base. None when something else is added."""
    row = tile.sides[1 - last].stride
    if row is None:
        return None
    found = [row]
    for term in tile.offset:
        named = [f.id for f in term.factors if isinstance(f, ast.Name) and "stride" in f.id.lower()]
        if len(named) != 1:
            return None
        found += named
    return found


def host_edits(view: View, launch: LaunchView, tiles: list[Tile], flag: str) -> Edits | None:
    """The check of base and strides before a launch, the allocator that descriptors need, and the flag."""
    module = launch.module
    torch, triton = module_alias(module.tree, "torch"), module_alias(module.tree, "triton")
    statement = next((n for n in module.around(launch.call) if isinstance(n, ast.stmt)), None)
    if torch is None or triton is None or launch.host is None or not isinstance(statement, ast.Expr | ast.Assign):
        return None
    passed_as = _passed(view, launch)
    units: list[str] = []
    sixteens: list[str] = []
    for tile in tiles:
        last = contiguous(view, tile) or 0
        tensor = launch.arguments.get(tile.base)
        if not isinstance(tensor, ast.Name | ast.Attribute):
            return None
        code = ast.unparse(tensor)
        unit = tile.sides[last].stride
        for name, into in ((unit, units), *((s, sixteens) for s in outer_strides(tile, last) or [])):
            if name is None:
                continue
            value = passed_as.get(name)
            if value is None or not _pure(value):
                return None
            into.append(ast.unparse(value) if into is units else f"{atom(value)} * {code}.element_size()")
        sixteens.append(f"{code}.data_ptr()")
    taken = {n.id for n in all_nodes(launch.host) if isinstance(n, ast.Name)}
    name = "descriptors" if "descriptors" not in taken else "use_descriptors"
    if name in taken or not sixteens:
        return None
    lines = _condition(
        name, list(dict.fromkeys(u for u in units if u != "1")), sorted(dict.fromkeys(sixteens), key=lambda c: "data_ptr" not in c)
    )
    if not any(isinstance(n, ast.Attribute) and n.attr == "set_allocator" for n in all_nodes(module.tree)):
        device = ast.unparse(launch.arguments[tiles[0].base])
        allocate = f"lambda size, alignment, stream: {torch}.empty(size, dtype={torch}.int8, device={device}.device)"
        lines += [f"if {name}:", f"{module.unit}{triton}.set_allocator({allocate})"]
    before = module.before(statement, lines)
    passed = launch.add_arguments([f"{flag}={name}"])
    return None if before is None or passed is None else [(module.path, before), *passed]


def _passed(view: View, launch: LaunchView) -> dict[str, ast.expr]:
    """Arguments by parameter, ``*x.stride()`` taken apart with the number of dimensions that x has in the cases."""
    found = dict(launch.arguments)
    ranks = {n: len(t["shape"]) for x in view.target_launches for n, t in x["tensors"].items()}
    at = 0
    for argument in launch.call.args:
        values = [argument]
        if isinstance(argument, ast.Starred):
            inside = argument.value
            if not (
                isinstance(inside, ast.Call) and isinstance(inside.func, ast.Attribute) and inside.func.attr == "stride" and not inside.args
            ):
                break
            rank = ranks.get(launch.parameter_of(inside.func.value) or "")
            if rank is None:
                break
            values = [ast.Call(inside.func, [ast.Constant(i)], []) for i in range(rank)]
        found |= dict(zip(view.kernel.parameters[at:], values, strict=False))
        at += len(values)
    return found


def _condition(name: str, units: list[str], sixteens: list[str]) -> list[str]:
    lead = f"# TMA reads rows of neighbouring elements, with addresses and strides of whole {ALIGNMENT} bytes."
    first = " == ".join([*units, "1"]) + " and " if units else ""
    line = f"{name} = {first}all(n > 0 and n % {ALIGNMENT} == 0 for n in ({', '.join(sixteens)},))".replace(
        ",))", "))" if len(sixteens) > 1 else ",))"
    )
    if len(line) <= WIDTH:
        return [lead, line]
    inside = wrapped(", ".join(s.replace(" ", "\0") for s in sixteens), WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    return [
        lead,
        f"{name} = {first}all(",
        f"    n > 0 and n % {ALIGNMENT} == 0",
        "    for n in (",
        *(f"        {x.replace(chr(0), ' ')}{'' if x.endswith(',') else ','}" for x in inside),
        "    )",
        ")",
    ]


def _pure(node: ast.expr) -> bool:
    """Reading it twice is reading it once: names, numbers, attributes, ``.stride(n)``."""
    calls = [n for n in all_nodes(node) if isinstance(n, ast.Call)]
    return all(isinstance(c.func, ast.Attribute) and c.func.attr in ("stride", "size") for c in calls) and not any(
        isinstance(n, ast.Await | ast.NamedExpr | ast.Yield) for n in all_nodes(node)
    )

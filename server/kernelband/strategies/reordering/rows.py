"""``persistent_rows``: as many programs as run at once, each walking over rows, with what is the same for every row loaded before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.hardware.occupancy import occupancy
from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.ids import NAME, assigned, ids_by_axis, programs
from kernelband.strategies.reordering.persistent import Shape, early, tile_count, tile_shape

MANY = 4  # worth it from so many waves of resident programs
STAGES = (1, 2, 3, 4)  # rows in flight
REGISTERS = 24  # of a thread for addresses and so on; its elements take about two each


class PersistentRows:
    """Rows in a loop with ``num_programs`` = multiprocessors x programs that fit; invariant statements above the loop; rows pipelined."""

    name = "persistent_rows"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view, sms = at.view, at.view.facts.device.multiprocessors
    shape, count, resident = tile_shape(view), tile_count(view), _resident(view)
    if shape is None or count is None or ids_by_axis(view) is None or view.kernel.model.autotuned:
        return
    if view.kernel.calls({"dot", "dot_scaled"}) or programs(view) < MANY * sms * resident:
        return
    steady = invariant(view, shape)
    loaded = [s for s in steady if any(view.kernel.tl(n) == "load" for n in all_nodes(s))]
    loops = any(isinstance(n, ast.For) for s in view.kernel.node.body for n in all_nodes(s))
    for each in (resident, resident // 2):
        # Rows are pipelined where the body is straight; a loop inside has a pipeline of its own.
        for stages in (1,) if loops else STAGES:
            if each < 1 or (stages == 1 and not loaded):
                continue  # ``persistent`` does that
            hoisted = f" {names(loaded)} {'is' if len(loaded) == 1 else 'are'} loaded once for all of them." if loaded else ""
            ahead = f" The loads of {stages} rows are in flight." if stages > 1 else ""
            reason = "each of which loads what is the same for every row" if loaded else "each of which only waits for its row"
            yield at.proposal(
                {"per_multiprocessor": each, "num_stages": stages},
                _edits(view, shape, steady, Plan(count[0], count[1], each, stages)),
                "exact",
                f"At most {sms} × {each} programs walk over the rows in a loop.{hoisted}{ahead}",
                f"{programs(view)} programs are {programs(view) / (sms * resident):.0f} waves of the {sms} × {resident} that run at once, "
                f"{reason}.",
            )


@frozen
class Plan:
    """The number of rows in the kernel's words, whether it is a new parameter, programs for each multiprocessor, rows in flight."""

    count: str
    extra: bool
    each: int
    stages: int


def _resident(view: View) -> int:
    """Programs that run at once on a multiprocessor: from the compiled code, else from warps and elements of a thread."""
    device, warps = view.facts.device, view.option("num_warps", 4)
    for compiled in view.facts.compiled:
        registers = compiled["registers"]
        if registers is not None and compiled["kernel"]["qualname"] == view.program.kernel.place.qualname:
            try:
                return max(1, occupancy(device, registers, compiled["shared_bytes"], compiled["num_warps"]).programs)
            except ValueError:
                break
    registers = min(REGISTERS + 2 * view.widest // (warps * 32), device.max_registers_per_thread)
    return max(1, occupancy(device, registers, 0, warps).programs)


def names(statements: list[ast.stmt]) -> str:
    """What they bind, in words: "w and b"."""
    bound = list(dict.fromkeys(p[0] for s in statements if (p := assigned(s)) is not None))
    return " and ".join([", ".join(bound[:-1]), bound[-1]] if len(bound) > 1 else bound)


def invariant(view: View, shape: Shape, varies: tuple[str, ...] = ("@", "~")) -> list[ast.stmt]:
    """Statements after the program id that do the same in every iteration: plain arithmetic, and loads of tensors that are only read.

    ``varies`` are the beginnings of the tokens that differ between iterations.
    """
    kernel = view.kernel
    stored = {t for a in kernel.accesses() if a.store for t in a.depends} if not kernel.calls({"make_block_ptr"}) else set[str]()
    tensors = {t for x in view.target_launches for t in x["tensors"]}
    rest = kernel.node.body[shape.place + 1 :]
    found = [s for s in rest if _steady(view, s, stored & tensors if tensors else stored, varies)]
    if hidden_stores(view):
        found = [s for s in found if not any(kernel.tl(n) == "load" for n in all_nodes(s))]
    while True:
        # What is bound in the loop too, or reads what is, stays there; and what is read there before it is bound for the last time.
        inside = {n for s in rest if s not in found for x in all_nodes(s) for n in bound_names(x)} | {shape.pid}
        last = {n: s.lineno for s in found for x in all_nodes(s) for n in bound_names(x)}
        staying = [n for s in rest if s not in found for n in all_nodes(s) if isinstance(n, ast.Name)]
        inside |= {n.id for n in staying if n.lineno < last.get(n.id, 0)}
        fewer = [s for s in found if not inside & {n.id for n in all_nodes(s) if isinstance(n, ast.Name)}]
        if len(fewer) == len(found):
            return found
        found = fewer


def hidden_stores(view: View) -> bool:
    """Whether something is stored out of sight: by a helper, through a block pointer or a descriptor."""
    kernel = view.kernel
    if len(kernel.calls({"store"})) != sum(a.store for a in kernel.accesses()):
        return True
    for helper in view.program.helpers:
        module = view.modules.get(helper.place.path)
        node = module.function(helper.place.qualname) if module is not None else None
        names = {getattr(n, "attr", getattr(n, "id", "")) for n in all_nodes(node)} if node is not None else {"store"}
        if names & {"store", *ATOMICS}:
            return True
    return False


def _steady(view: View, statement: ast.stmt, stored: set[str], varies: tuple[str, ...]) -> bool:
    kernel = view.kernel
    assignments = [statement] if isinstance(statement, ast.Assign) else statement.body if isinstance(statement, ast.If) else []
    if not early([statement]) and (not assignments or any(assigned(s) is None for s in assignments)):
        return False
    if isinstance(statement, ast.If) and statement.orelse:
        return False
    if any(t.startswith(varies) for t in kernel.tokens(statement)):
        return False
    calls = [n for n in all_nodes(statement) if isinstance(n, ast.Call)]
    pointers = {t for n in calls if kernel.tl(n) == "load" and n.args for t in kernel.tokens(n.args[0])}
    return all(_pure(view, n) for n in calls) and not pointers & stored


def _pure(view: View, call: ast.Call) -> bool:
    """A function of the language without effects, or a method such as ``.to``."""
    name = view.kernel.tl(call)
    if name is not None:
        return not name.startswith(("atomic", "debug", "device", "store", "inline", "make_", "rand")) and name != "num_programs"
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "reshape", "expand_dims", "broadcast_to")


def _edits(view: View, shape: Shape, steady: list[ast.stmt], plan: Plan) -> Edits | None:
    tl = view.kernel.language
    stages = f", num_stages={plan.stages}" if plan.stages > 1 else ""
    edits = in_loop(view, shape, steady, f"{tl}.range({tl}.program_id(0), {plan.count}, {tl}.num_programs(0){stages})")
    if edits is None:
        return None
    for launch in view.launches:
        side = (launch.sides() or [launch.grid])[0]
        rows = launch.module.code(side)
        statement = next((n for n in (side, *launch.module.around(side)) if isinstance(n, ast.stmt)), None)
        device = view.facts.device
        comment = f"# {device.multiprocessors} multiprocessors ({device.name}) run {plan.each} of these programs each."
        above = launch.module.before(statement, [comment]) if statement is not None else None
        if above is not None:
            edits.append((launch.module.path, above))
        edits.append((launch.module.path, launch.module.replace(side, f"min({rows}, {view.facts.device.multiprocessors} * {plan.each})")))
        if plan.extra:
            added = launch.add_arguments([f"{plan.count}={rows}"])
            if added is None:
                return None
            edits += added
    if plan.extra:
        parameters = view.kernel.module.add_parameters(view.kernel.node, [(plan.count, None)])
        if parameters is None:
            return None
        edits += [(view.kernel.module.path, e) for e in parameters]
    return edits


def in_loop(view: View, shape: Shape, steady: list[ast.stmt], values: str) -> Edits | None:
    """The body from the program id on, written anew: steady lines with their comments, a loop over ``values``, the rest one step in."""
    module = view.kernel.module
    rest = view.kernel.node.body[shape.place + 1 :]
    indent = module.indent(shape.statement)
    if indent is None or any(module.indent(s) is None for s in rest):
        return None
    if any(isinstance(n, ast.Constant) and isinstance(n.value, str) and n.lineno != n.end_lineno for s in rest for n in all_nodes(s)):
        return None  # indenting would change the string
    start, end = module.span(shape.statement).start, module.line_end(module.span(rest[-1]).end)
    lines = module.text[start:end].split(module.newline)
    first = shape.statement.lineno
    if len(lines) != (rest[-1].end_lineno or 0) - first + 1:
        return None  # line breaks of several kinds
    moved: set[int] = set()
    for statement in steady:
        at = statement.lineno - first
        moved |= set(range(at, (statement.end_lineno or 0) - first + 1))
        while at - 1 > 0 and lines[at - 1].strip().startswith("#"):
            at -= 1
            moved.add(at)
    header = f"for {shape.pid} in {values}:"
    step = "\t" if "\t" in indent else "    "
    above = [lines[i] for i in sorted(moved)]
    inside = [f"{step}{line}" if line.strip() else line for line in _tidy([x for i, x in enumerate(lines) if i > 0 and i not in moved])]
    text = module.newline.join([*above, f"{indent}{header}", *inside])
    return [(module.path, Edit(Span(start, end), text.removeprefix(indent)))]


def _tidy(lines: list[str]) -> list[str]:
    """Without blank lines at the beginning, and without those that have come to stand beside another."""
    blank = [not line.strip() for line in lines]
    return [line for i, line in enumerate(lines) if not (blank[i] and all(blank[: i + 1])) and not (i and blank[i] and blank[i - 1])]

"""Integer expressions of a kernel as numbers, for one launch of the cases: so much for each lane, each iteration, each program.

What ``flatten`` says in names this says in numbers, with the parameters that the launch passed: whether two iterations of a loop can write
to the same place is a question of how far a tile reaches and how far apart the iterations are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from attrs import field, frozen

from kernelband.strategies.code.kernel import Access, KernelView, Loop
from kernelband.strategies.code.linear import ALIGNMENT_HINTS, definition, dimension
from kernelband.strategies.code.trips import passed
from kernelband.strategies.code.view import View
from kernelband_worker.wire import LaunchFacts

#: A sum: what one of each thing adds. "" is the constant, ``#..`` a lane of an ``arange``, ``~..`` a loop's variable, ``*p`` a pointer's
#: address, ``//..`` and ``%..`` a quotient and a remainder of what varies; any other is one number for the whole program.
Sum = dict[str, int]
VARYING = ("#", "~", "//", "%")


@frozen(eq=False)
class Numbers:
    """A kernel in one launch: ``known`` are its parameters that are numbers there. ``ends`` gets the highest value of each lane."""

    kernel: KernelView
    known: Mapping[str, int]
    ends: dict[str, int] = field(factory=dict[str, int])
    divided: dict[str, tuple[Sum, int]] = field(factory=dict[str, tuple[Sum, int]])  # of quotients and remainders: what, by how much

    def read(self, node: ast.AST, at: ast.AST, side: str = "") -> Sum | None:
        """The expression's sum where ``at`` reads it; None where it isn't one. ``side``: the dimension that its lanes lie along."""
        match node:
            case ast.Constant(value=int() as value):
                return {"": int(value)}
            case ast.Name(id=name):
                return self._named(name, at, side)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _scaled(self.read(operand, at, side), -1)
            case ast.BinOp(left=left, op=op, right=right):
                return self._combined(node, op, self.read(left, at, side), self.read(right, at, side))
            case ast.Subscript(value=value):
                found = dimension(node)
                return self.read(value, at, side if found is None else f":{found[0]}")
            case ast.Call():
                return self._called(node, at, side)
            case _:
                return None

    def _named(self, name: str, at: ast.AST, side: str) -> Sum | None:
        if name in self.known and not self.kernel.bindings(name):
            return {"": self.known[name]}
        if name in self.kernel.parameters:
            return self._pointer(name, at) or self._moved_on(name, at, side)
        if any(isinstance(b, ast.For) for b in self.kernel.bindings(name)):
            inside = next((n for n in self.kernel.module.around(at) if n in self.kernel.bindings(name)), None)
            alone = all(isinstance(b, ast.For) for b in self.kernel.bindings(name))
            return {_turn(inside): 1} if alone and isinstance(inside, ast.For) else None
        bound = definition(self.kernel, name, at)
        if bound is not None:
            return self.read(bound.value, bound, side)
        return self._uniform(name, at) or self._moved_on(name, at, side)

    def _moved_on(self, name: str, at: ast.AST, side: str) -> Sum | None:
        """What a loop around ``at`` adds the same number to in each of its iterations, once: ``p += BLOCK``."""
        adds = [b for b in self.kernel.bindings(name) if isinstance(b, ast.AugAssign) and isinstance(b.op, ast.Add)]
        around = self.kernel.module.around(at)
        for loop in (x for x in self.kernel.loops() if x.node in around):
            inside = [b for b in self.kernel.bindings(name) if loop.node in self.kernel.module.around(b)]
            if len(inside) != 1 or inside[0] not in adds or inside[0] not in loop.node.body:
                continue
            (add,) = (b for b in adds if b is inside[0])
            begin = definition(self.kernel, name, loop.node)
            if begin is not None:
                found = self.read(begin.value, begin, side)
            else:
                found = {f"*{name}": 1} if self.kernel.bindings(name) == inside and name in self.kernel.parameters else None
            by, start = self.read(add.value, add), self.read(loop.start or ast.Constant(0), loop.node)
            step = self.step(loop)
            if found is None or by is None or start is None or (by.keys() | start.keys()) - {""} or step < 1 or by.get("", 0) % step:
                return None
            each = by.get("", 0) // step
            first = (by.get("", 0) if getattr(at, "lineno", 0) > add.lineno else 0) - each * start.get("", 0)
            return {**found, "": found.get("", 0) + first, _turn(loop.node): each}
        return None

    def _uniform(self, name: str, at: ast.AST) -> Sum | None:
        """A number that the way to ``at`` decides, the same for all lanes and for all iterations of the loops around."""
        bindings, around = self.kernel.bindings(name), self.kernel.module.around
        varies = any(t.startswith(("#", "~")) for t in self.kernel.depends.get(name, frozenset()))
        loops = {n for n in around(at) if isinstance(n, ast.For | ast.While)}
        if varies or not bindings or any(loops & {b, *around(b)} for b in bindings):
            return None
        last = max((b.lineno for b in bindings if b.lineno < getattr(at, "lineno", 0)), default=0)
        return {f"? {name} {last}": 1}

    def _pointer(self, name: str, at: ast.AST) -> Sum | None:
        """A tensor's address, and what statements of the kernel's own block have added to it."""
        found: Sum = {f"*{name}": 1}
        for bound in self.kernel.bindings(name):
            if not isinstance(bound, ast.AugAssign) or not isinstance(bound.op, ast.Add) or bound not in self.kernel.node.body:
                return None
            more = None if bound.lineno >= getattr(at, "lineno", 0) else self.read(bound.value, bound)
            if more is None:
                return None
            found = {k: found.get(k, 0) + more.get(k, 0) for k in {**found, **more}}
        return found

    def _combined(self, node: ast.BinOp, op: ast.operator, left: Sum | None, right: Sum | None) -> Sum | None:
        if left is None or right is None:
            return None
        if isinstance(op, ast.Add | ast.Sub):
            sign = -1 if isinstance(op, ast.Sub) else 1
            return {k: left.get(k, 0) + sign * right.get(k, 0) for k in {**left, **right}}
        if isinstance(op, ast.Mult) and (not left.keys() - {""} or not right.keys() - {""}):
            number, other = (left, right) if not left.keys() - {""} else (right, left)
            return _scaled(other, number.get("", 0))
        if isinstance(op, ast.FloorDiv | ast.Mod) and not (left.keys() | right.keys()) - {""} and left.get("", 0) >= 0 < right.get("", 0):
            return {"": left.get("", 0) // right[""] if isinstance(op, ast.FloorDiv) else left.get("", 0) % right[""]}
        number = _one_number(node, {**left, **right})
        if number is None and isinstance(op, ast.FloorDiv | ast.Mod) and not right.keys() - {""} and right.get("", 0) > 0:
            key = f"{'//' if isinstance(op, ast.FloorDiv) else '%'}{right['']} {sorted(left.items())}"
            self.divided[key] = (left, right[""])
            return {key: 1}
        return number

    def _called(self, node: ast.Call, at: ast.AST, side: str) -> Sum | None:
        called = self.kernel.tl(node)
        if called in ALIGNMENT_HINTS and node.args:
            return self.read(node.args[0], at, side)
        if called is None and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return self.read(node.func.value, at, side)
        if called == "arange" and len(node.args) == 2 and self.read(node.args[0], at) == {"": 0}:
            end, lane = self.read(node.args[1], at), f"#{node.lineno}:{node.col_offset}{side}"
            if end is None or end.keys() - {""}:
                return None
            self.ends[lane] = end[""] - 1
            return {lane: 1}
        if called == "cdiv" and len(node.args) == 2:
            whole, part = (self.read(a, at) for a in node.args)
            if whole is not None and part is not None and not (whole.keys() | part.keys()) - {""} and part.get("", 0) > 0:
                return {"": -(-whole.get("", 0) // part[""])}
        if self.kernel.is_id(node) and (axes := self.kernel.tokens(node)) <= {"@0", "@1", "@2"}:
            return {next(iter(axes)): 1}
        varies = any(t.startswith(("#", "~")) for t in self.kernel.tokens(node))
        return None if varies else {_own_key(node): 1}

    def extent(self, key: str) -> int | None:
        """Highest less lowest value of a lane, or of a loop's variable."""
        if not key.startswith("~"):
            return self.ends.get(key)
        loop = next((x for x in self.kernel.loops() if _turn(x.node) == key), None)
        count = None if loop is None else self.count(loop)
        return None if loop is None or count is None else max(count - 1, 0) * self.step(loop)

    def step(self, loop: Loop) -> int:
        """The loop's step; 0 where it isn't a number."""
        found = {"": 1} if loop.step is None else self.read(loop.step, loop.node)
        return 0 if found is None or found.keys() - {""} else found[""]

    def count(self, loop: Loop) -> int | None:
        """Iterations of the loop, from a start that isn't negative and with a step that is positive; None where they aren't numbers."""
        start, stop = (self.read(n, loop.node) for n in (loop.start or ast.Constant(0), loop.stop))
        if start is None or stop is None or (start.keys() | stop.keys()) - {""} or self.step(loop) < 1 or start[""] < 0:
            return None
        return len(range(start[""], stop[""], self.step(loop)))


def _launched(view: View) -> list[LaunchFacts]:
    return [x for x in view.target_launches for _ in view.launches]


def numbers(view: View) -> Iterator[Numbers]:
    """The kernel in each launch of the cases."""
    for known in known_in(view):
        yield Numbers(view.kernel, known)


def known_in(view: View, launches: Iterable[LaunchFacts] | None = None) -> Iterator[dict[str, int]]:
    """The parameters that are numbers, in each of those launches; in each of the cases."""
    for launched in view.target_launches if launches is None else launches:
        for launch in view.launches:
            yield passed(launch, launched, set(view.kernel.parameters) - set(launched["tensors"]))


def counts(view: View, loop: Loop) -> list[int]:
    """Iterations of a loop in each launch that is timed; empty where they don't follow from what is passed."""
    found = [Numbers(view.kernel, known).count(loop) for known in known_in(view, view.timed_launches)]
    return [n for n in found if n is not None] if None not in found else []


def own_places(view: View, loop: Loop) -> bool:
    """No two iterations of the loop store to the same place, in any launch of the cases."""
    found = list(numbers(view))
    return bool(found) and all(own_places_in(x, loop) for x in found)


def own_places_in(here: Numbers, loop: Loop) -> bool:
    """The same in one launch."""
    turn = _turn(loop.node)
    reach: dict[str, tuple[Sum, int, int]] = {}  # by tensor: what is the same for all its stores, the lowest and the highest place
    for access in (a for a in loop.accesses if a.store):
        found = here.read(access.pointer, access.call)
        place = None if found is None else _undivided(here, found)
        tensors = [k for k in place or {} if k.startswith("*")]
        if place is None or len(tensors) != 1 or place[tensors[0]] != 1:
            return False
        moving = {k: v for k, v in place.items() if v and k.startswith(VARYING) and k != turn}
        same = {k: v for k, v in place.items() if v and k and k not in moving}
        far = _reach(here, moving, access)
        if far is None:
            return False
        low, high = place.get("", 0), place.get("", 0) + far
        if tensors[0] in reach:
            before, lowest, highest = reach[tensors[0]]
            if before != same:
                return False
            low, high = min(low, lowest), max(high, highest)
        reach[tensors[0]] = (same, low, high)
    return all(abs(same.get(turn, 0)) * here.step(loop) > high - low for same, low, high in reach.values())


def _undivided(here: Numbers, place: Sum) -> Sum | None:
    """``n // C * A + n % C * B`` with A at least B * C grows with n: n instead, which is another wherever that is."""
    parts = {k: v for k, v in place.items() if v and k.startswith(("//", "%"))}
    if not parts:
        return place
    if len(parts) != 2 or any(v and k.startswith(("#", "~")) for k, v in place.items()):
        return None
    (quotient, by), (remainder, times) = sorted(parts.items(), key=lambda x: not x[0].startswith("//"))
    whole, size = here.divided[quotient]
    if here.divided[remainder] != (whole, size) or not remainder.startswith("%") or times < 1 or by < times * size:
        return None
    rest = {k: v for k, v in place.items() if k not in parts and k}
    if any(v and k in whole for k, v in rest.items()) or any(k.startswith(("//", "%")) for k in whole):
        return None
    return {**rest, **whole, f"={quotient} {by} {times} {place.get('', 0)}": 1}


def one_each(view: View, access: Access) -> bool:
    """Each element of the tensor is accessed by one lane of one program, in every launch."""
    found = list(zip(_launched(view), numbers(view), strict=True))
    return bool(found) and all(_one_each(launched, here, access) for launched, here in found)


def _one_each(launched: LaunchFacts, here: Numbers, access: Access) -> bool:
    """Place and masks count through, digit by digit: what a mask ends is one digit of as many values as its end says."""
    place = here.read(access.pointer, access.call)
    tensors = [k for k in place or {} if k.startswith("*")]
    if place is None or len(tensors) != 1 or place[tensors[0]] != 1 or place.get("", 0):
        return False
    values = {f"@{axis}": n for axis, n in enumerate(launched["grid"])} | {k: n + 1 for k, n in here.ends.items()}
    left = {k: v for k, v in place.items() if v and k and k not in tensors}
    if not left.keys() <= values.keys() or any(n > 1 and f"@{axis}" not in left for axis, n in enumerate(launched["grid"])):
        return False
    digits: list[tuple[int, int]] = []  # what one is worth, how many there are
    for limit in _limits(here, access):
        below, end = limit or ({}, 0)
        inside = {k: v for k, v in below.items() if v and k}
        by = next((left.get(k, 0) // v for k, v in inside.items()), 0)
        if by < 1 or below.get("", 0) or any(left.get(k) != v * by for k, v in inside.items()):
            return False
        if _counted([(v, values[k]) for k, v in inside.items()]) < end:
            return False
        digits.append((by, end))
        left = {k: v for k, v in left.items() if k not in inside}
    out = launched["tensors"].get(tensors[0][1:])
    return out is not None and prod(out["shape"]) == _counted([*digits, *((v, values[k]) for k, v in left.items())])


def _counted(digits: Sequence[tuple[int, int]]) -> int:
    """How many numbers the digits count, from 0 on and each once; 0 where there are gaps, or one comes again."""
    worth = 1
    for by, many in sorted(d for d in digits if d[1] != 1):
        if by != worth:
            return 0
        worth *= many
    return worth


def _reach(here: Numbers, moving: Sum, access: Access) -> int | None:
    """Highest less lowest place that an access gets to by its lanes and inner loops, where its mask lets it; None if that isn't known."""
    left, far = dict(moving), 0
    if any(v < 0 for v in left.values()):
        return None
    for below, end in (x for x in _limits(here, access) if x is not None):
        inside = {k: v for k, v in below.items() if k.startswith(VARYING)}
        factors = {left[k] // v for k, v in inside.items() if k in left and left[k] % v == 0}
        if not inside or len(factors) != 1 or any(left.get(k) != v * next(iter(factors)) for k, v in inside.items()):
            continue
        free = [here.extent(k) for k in inside]
        limited = max(end - 1 - below.get("", 0), 0)
        unlimited = None if None in free else sum(v * (e or 0) for v, e in zip(inside.values(), free, strict=True))
        far += next(iter(factors)) * (limited if unlimited is None else min(limited, unlimited))
        left = {k: v for k, v in left.items() if k not in inside}
    for key, by in left.items():
        extent = here.extent(key)
        if extent is None:
            return None
        far += by * extent
    return far


def _limits(here: Numbers, access: Access) -> Iterator[tuple[Sum, int] | None]:
    """(sum, n) of each ``sum < n`` that an access's mask demands, with nothing in the sum that may be negative; None for other demands."""
    queue: list[tuple[ast.expr, ast.AST]] = [] if access.mask is None else [(access.mask, access.call)]
    while queue:
        node, at = queue.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            queue += [(node.left, at), (node.right, at)]
        elif isinstance(node, ast.Subscript):
            found, inner = dimension(node), node.value
            if found is not None and isinstance(inner, ast.Name) and (bound := definition(here.kernel, inner.id, at)) is not None:
                inner, at = bound.value, bound
            side = f":{found[0]}" if found is not None else ""
            yield _limit(here, inner, at, side) if isinstance(inner, ast.Compare) and side else None
        elif isinstance(node, ast.Name) and (bound := definition(here.kernel, node.id, at)) is not None:
            queue.append((bound.value, bound))
        else:
            yield _limit(here, node, at, "") if isinstance(node, ast.Compare) else None


def _limit(here: Numbers, node: ast.Compare, at: ast.AST, side: str) -> tuple[Sum, int] | None:
    below, end = here.read(node.left, at, side), here.read(node.comparators[0], at)
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt) or below is None or end is None or end.keys() - {""}:
        return None
    return (below, end[""]) if all(v >= 0 and not k.startswith(("?", "*")) for k, v in below.items()) else None


def _scaled(found: Sum | None, by: int) -> Sum | None:
    return None if found is None else {k: v * by for k, v in found.items()}


def _one_number(node: ast.expr, parts: Sum) -> Sum | None:
    """Any other expression of what is one number for the program is one, too."""
    return None if any(k.startswith((*VARYING, "*")) for k in parts) else {_own_key(node): 1}


def _turn(loop: ast.For) -> str:
    return f"~{loop.lineno}:{loop.col_offset}"


def _own_key(node: ast.expr) -> str:
    return f"?{node.lineno}:{node.col_offset}"

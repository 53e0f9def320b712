"""A launch in its host function: what is passed, where each number is written, and the edits that change it together with the grid."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import cast

from attrs import evolve, field, frozen

from kernelband.source.model import Launch
from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import binding, bound_names
from kernelband.strategies.code.callee import stands_for
from kernelband.strategies.code.copies import own_copies
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.knob import OPTIONS, Edits, Knob
from kernelband.strategies.code.literals import assigned, default, integer
from kernelband.strategies.code.module import FunctionNode, Module
from kernelband.strategies.code.quotients import called, holding
from kernelband.strategies.code.unpacked import keywords_of


@frozen(eq=False)
class LaunchView:
    """``kernel[grid](...)``, resolved: arguments by the kernel's parameter, and the grid's expression."""

    module: Module
    model: Launch
    host: FunctionNode | None
    call: ast.Call
    grid: ast.expr  # the tuple, list or number that it comes down to
    meta: str | None  # the parameter of ``lambda META: ...``
    arguments: dict[str, ast.expr] = field(repr=False)
    keywords: tuple[ast.keyword, ...] = field(repr=False)  # those of an unpacked dictionary among them
    splat: bool  # ``**kwargs``: more may be passed than is written
    kernel: KernelView = field(repr=False)

    @classmethod
    def read(cls, module: Module, model: Launch, kernel: KernelView) -> LaunchView | None:
        call = next((n for n in all_nodes(module.tree) if isinstance(n, ast.Call) and module.span(n) == model.span), None)
        if call is None or not isinstance(call.func, ast.Subscript):
            return None
        host = next((n for n in module.around(call) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)), None)
        arguments: dict[str, ast.expr] = {}
        for name, value in zip(kernel.parameters, call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            arguments[name] = value
        view = cls(module, model, host, call, call.func.slice, None, arguments, (), splat=False, kernel=kernel)
        names = {k.value.id for k in call.keywords if k.arg is None and isinstance(k.value, ast.Name)} - view.host_parameters
        whole = keywords_of(module, call, host or module.tree, {n: view._at_launch(n) for n in names})
        keywords = tuple(k for k in call.keywords if k.arg is not None) if whole is None else whole
        arguments |= {k.arg: k.value for k in keywords if k.arg is not None}
        grid, meta = view.follow_grid(call.func.slice)
        return cls(module, model, host, call, grid, meta, arguments, keywords, whole is None, kernel)

    def follow_grid(self, grid: ast.expr) -> tuple[ast.expr, str | None]:
        """The grid behind names, lambdas and local functions, and the name of its META parameter."""
        for deep in range(4):
            if isinstance(grid, ast.Lambda):
                names = [a.arg for a in grid.args.args]
                return grid.body, names[0] if len(names) == 1 else None
            if not isinstance(grid, ast.Name):
                break
            bindings = self.bindings(grid.id) if deep else self._at_launch(grid.id)
            if len(bindings) != 1:
                break
            bound = bindings[0]
            if isinstance(bound, ast.FunctionDef):
                last = bound.body[-1]
                if isinstance(last, ast.Return) and last.value is not None and len(bound.args.args) == 1:
                    return last.value, bound.args.args[0].arg
                break
            if not isinstance(bound, ast.Assign) or len(bound.targets) != 1 or not isinstance(bound.targets[0], ast.Name):
                break
            grid = bound.value
        return grid, None

    def starts_only(self, kernel: str) -> bool:
        """Whether this launch can start nothing but the kernel of that qualname: an edit of its grid would be one of another's."""
        return isinstance(self.call.func, ast.Subscript) and stands_for(self.module, self.call, self.call.func.value, kernel)

    def bindings(self, name: str) -> list[ast.stmt]:
        """Statements of the host function that bind ``name``."""
        return binding(self.host or self.module.tree).get(name, [])

    def _at_launch(self, name: str) -> list[ast.stmt]:
        """Those of ``bindings`` that can be what the launch reads: one alone where it stands above it in the same branch."""
        found, inner = self.bindings(name), [self.call, *self.module.around(self.call)]
        for around, inside in zip(inner[1:], inner, strict=False):
            for part in ("body", "orelse", "finalbody"):
                block = cast("list[ast.AST] | ast.AST", getattr(around, part, around))  # of an expression, such as a lambda's body, none
                above = block[: block.index(inside)] if isinstance(block, list) and inside in block else []
                own = [s for s in found if isinstance(s, ast.Assign | ast.FunctionDef) and s in above]
                last = max(own, key=lambda s: s.lineno, default=None)
                if last is not None and not any(b.lineno > last.lineno and self._before(b) for b in found):
                    return [last]
            if isinstance(around, ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef):
                break
        return found

    def _before(self, statement: ast.stmt) -> bool:
        return statement.lineno <= self.call.lineno

    @property
    def host_parameters(self) -> set[str]:
        """Names that the host function's callers give values to."""
        if self.host is None:
            return set()
        given = self.host.args
        more = [a for a in (given.vararg, given.kwarg) if a is not None]
        return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *more)}

    # ------------------------------------------------------------ numbers

    def number(self, name: str) -> tuple[int, ast.expr] | None:
        """The literal behind a variable of the host function: assigned once, a parameter's default, or a module's constant of its own."""
        bindings = self.bindings(name)
        parameter = self.host is not None and name in {
            a.arg for a in (*self.host.args.posonlyargs, *self.host.args.args, *self.host.args.kwonlyargs)
        }
        if len(bindings) == 1 and not parameter:
            return assigned(bindings[0], name)
        if bindings or self.host is None:
            return None
        if parameter:
            return default(self.host, name)
        tops = [s for s in self.module.tree.body if name in bound_names(s)]
        everywhere = [n for n in all_nodes(self.module.tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
        inside = {n for n in all_nodes(self.host) if isinstance(n, ast.Name)}
        return assigned(tops[0], name) if len(tops) == 1 and all(n in inside for n in everywhere) else None

    def knob(self, name: str) -> Knob | None:
        """The number passed for the constexpr ``name``; None when it is computed, unknown, or the grid's copies of it are ambiguous."""
        value = self.arguments.get(name)
        if value is None:
            return None
        if isinstance(value, ast.Name):
            found = None if self.shared(value.id) or self.gives_away(value.id) else self.number(value.id)
            if found is None:
                return None
            return Knob(name, found[0], ((self.module, found[1]),), self.grid_reads(name))
        literal = integer(value)
        if literal is None:
            return None
        copies = [] if self.meta is not None and self._reads_meta(name) else own_copies(self, name, literal)
        if copies is None or (copies and not self.own_grid):
            return None  # two constexprs of that value: which one the grid means can't be told; or another launch has the grid, too
        return Knob(name, literal, ((self.module, value), *((self.module, c) for c in copies)), bool(copies) or self.grid_reads(name))

    def shared(self, name: str) -> bool:
        """Another kernel of this host function gets the variable too: it would change with this one."""
        kernel = ast.unparse(self.call.func.value) if isinstance(self.call.func, ast.Subscript) else ""
        for node in all_nodes(self.host or self.module.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and ast.unparse(node.func.value) != kernel:
                passed = [*node.args, *(k.value for k in node.keywords)]
                held = {k.value.id for k in node.keywords if k.arg is None and isinstance(k.value, ast.Name)}
                passed += [b.value for n in held for b in self.bindings(n) if isinstance(b, ast.Assign)]
                if any(isinstance(n, ast.Name) and n.id == name for a in passed for n in all_nodes(a)):
                    return True
        return False

    def _only_reader(self, name: ast.Name) -> bool:
        """Nobody else gets the variable, or computes with it."""
        reads = [
            n
            for n in all_nodes(self.host or self.module.tree)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id == name.id
        ]
        return reads == [name] and not self.shared(name.id) and not self.gives_away(name.id)

    def gives_away(self, name: str) -> bool:
        """The host function returns the variable, or keeps it in an object: callers would see another number."""
        given = [v for n in all_nodes(self.host or self.module.tree) if (v := _given(n)) is not None]
        return any(isinstance(n, ast.Name) and n.id == name for v in given for n in _members(v))

    def grid_reads(self, name: str) -> bool:
        """The number of programs follows the constexpr ``name``: through META, the variable passed for it, or a copy of its number."""
        value = self.arguments.get(name)
        if self._reads_meta(name):
            return True
        if isinstance(value, ast.Name):
            return any(isinstance(n, ast.Name) and n.id == value.id for n in self.grid_nodes())
        literal = integer(value) if value is not None else None
        if value is not None and literal is None:
            code = ast.unparse(value)  # ``self.block`` in both
            return any(isinstance(n, ast.expr) and ast.unparse(n) == code for n in self.grid_nodes())
        if literal is None:
            return False
        copies = own_copies(self, name, literal)
        return copies is None or bool(copies)  # where it can't be told, the grid may

    def grid_nodes(self) -> Iterator[ast.AST]:
        """The grid's nodes, and those of the host variables that it is made of."""
        seen: set[str] = set()
        queue: list[ast.AST] = [self.grid]
        while queue:
            for node in all_nodes(queue.pop()):
                yield node
                if isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    queue += [b.value for b in self.bindings(node.id) if isinstance(b, ast.Assign)]

    def _reads_meta(self, name: str) -> bool:
        return any(
            isinstance(n, ast.Subscript)
            and isinstance(n.value, ast.Name)
            and n.value.id == self.meta
            and isinstance(n.slice, ast.Constant)
            and n.slice.value == name
            for n in all_nodes(self.grid)
        )

    # ------------------------------------------------------------ options and arguments

    def set_options(self, new: dict[str, int | str], also: Sequence[str] = ()) -> Edits | None:
        """num_warps and so on written at the launch, with arguments that it didn't pass; None where ``**kwargs`` may already pass them."""
        edits: Edits = []
        missing = [*also]
        if any(isinstance(n, ast.Name) and n.id in new for n in self.kernel.nodes):
            return None  # the kernel computes with it
        for name, value in new.items():
            written = next((k.value for k in self.keywords if k.arg == name), None)
            if written is None:
                missing.append(f"{name}={value}")
            elif self.module.code(written) != str(value):
                # ``num_warps = 4`` above the launch changes there, so that no variable is left without a reader.
                own = isinstance(written, ast.Name) and self._only_reader(written)
                variable = self.number(written.id) if own and isinstance(written, ast.Name) else None
                edits.append((self.module.path, self.module.replace(variable[1] if variable is not None else written, str(value))))
        if not missing:
            return edits
        added = None if self.splat else self.module.add_arguments(self.call, missing)
        return None if added is None else edits + [(self.module.path, e) for e in added]

    def add_arguments(self, new: list[str]) -> Edits | None:
        """``name=value`` items at the end of the launch, for parameters that the kernel gets with them: no ``**kwargs`` has those yet."""
        added = self.module.add_arguments(self.call, new)
        return None if added is None else [(self.module.path, e) for e in added]

    def pass_also(self, new: list[str], warps: int | None) -> Edits | None:
        """``add_arguments`` with a number of warps, which the launch says already, or gets in one edit with the rest: two at one place
        would collide. None where ``**kwargs`` may already pass it.
        """
        written = warps is None or any(k.arg == "num_warps" for k in self.keywords)
        if not written and self.splat:
            return None
        options = self.set_options({"num_warps": warps}) if written and warps is not None else []
        more = self.add_arguments([*new, *([] if written else [f"num_warps={warps}"])])
        return None if options is None or more is None else options + more

    def held(self, block: str) -> tuple[str, int] | None:
        """(parameter, limit) when the block is the power of two that holds what is passed for that parameter, at most the limit."""
        value = self.arguments.get(block)
        if isinstance(value, ast.Name) and len(bindings := self.bindings(value.id)) == 1 and isinstance(bindings[0], ast.Assign):
            value = bindings[0].value
        held = None if value is None else holding(value)
        parameter = None if held is None else self.parameter_of(held)
        limits = [x for a in value.args if (x := integer(a)) is not None] if isinstance(value, ast.Call) and called(value) == "min" else []
        return (parameter, min(limits, default=2**31)) if parameter is not None else None

    def sides(self) -> list[ast.expr] | None:
        """The grid's sides, x first; None when they aren't written out."""
        if isinstance(self.grid, ast.Tuple | ast.List):
            return None if any(isinstance(e, ast.Starred) for e in self.grid.elts) else list(self.grid.elts)
        return None

    @property
    def own_grid(self) -> bool:
        """No other launch takes the same grid from the same variable: none reads it, or only in a branch where this one isn't bound."""
        grid = self.call.func.slice if isinstance(self.call.func, ast.Subscript) else None
        if not isinstance(grid, ast.Name):
            return True
        scope = self.host or self.module.tree
        reads = [n for n in all_nodes(scope) if isinstance(n, ast.Name) and n.id == grid.id and isinstance(n.ctx, ast.Load)]
        return all(n is grid or self.module.either(n, self.grid) for n in reads)

    @property
    def lends_grid(self) -> bool:
        """Another kernel is launched over the same variable's grid, whatever its blocks are."""
        calls = [n for n in all_nodes(self.host or self.module.tree) if isinstance(n, ast.Call)]
        own = ast.unparse(self.call.func.value) if isinstance(self.call.func, ast.Subscript) else ""
        others = [(n, n.func.slice) for n in calls if isinstance(n.func, ast.Subscript) and ast.unparse(n.func.value) != own]
        grids = [evolve(self, call=n).follow_grid(grid)[0] for n, grid in others if isinstance(grid, ast.Name)]
        return any(g is self.grid or isinstance(g, ast.Name) for g in grids)

    def unchanged(self, expression: ast.expr) -> bool:
        """Whether the expression, which stands before the launch, has the same value there: no name of it is bound in between."""
        around, here = self.module.around, set(self.module.around(expression))
        called = self.meta is not None and expression in set(all_nodes(self.grid))
        if self.call in here or called or not hasattr(expression, "lineno"):
            return True  # of the launch itself, or of a grid's function, which the launch calls
        loops = {n for n in around(self.call) if isinstance(n, ast.For | ast.While) and n not in here}
        for name in {n.id for n in all_nodes(expression) if isinstance(n, ast.Name)}:
            for bound in self.bindings(name):
                between = expression.lineno <= bound.lineno <= self.call.lineno and bound not in here
                if between or loops & set(around(bound)):
                    return False
        return True

    def parameters_of(self, expression: ast.expr) -> list[str]:
        """The kernel's parameters that get the same value as ``expression`` (compared as code)."""
        if not self.unchanged(expression):
            return []
        wanted = ast.unparse(expression)
        return [k for k, v in self.arguments.items() if k not in OPTIONS and ast.unparse(v) == wanted]

    def parameter_of(self, expression: ast.expr) -> str | None:
        """The kernel's parameter that gets the same value as ``expression`` (compared as code)."""
        return next(iter(self.parameters_of(expression)), None)


def _given(node: ast.AST) -> ast.expr | None:
    """What a function returns, or keeps as ``ctx.BLOCK``."""
    kept = isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets)
    return node.value if isinstance(node, ast.Return) or (isinstance(node, ast.Assign) and kept) else None


def _members(value: ast.expr) -> Iterator[ast.expr]:
    """A value, and those of a tuple: not what calls in it are given."""
    queue = [value]
    while queue:
        yield (node := queue.pop())
        queue += node.elts if isinstance(node, ast.Tuple | ast.List) else []

"""The gate: what a model wrote may become part of a program only if its syntax tree holds nothing but what a kernel needs.

Allowed is what is known to be harmless (``allowed``) and what the user's own functions name already. So there is no way to files, network,
processes, threads, other modules, state that outlives a call, or the machinery behind objects; what is left is arithmetic on tensors.
Names are resolved by Python's own symbol table, never by spelling. What single words don't show is looked at last: what is kept
(``state``), what is read (``memory``), and what is made for single sizes (``sizes``).
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator

from attrs import define, field

from kernelband.propose.model import allowed, memory, sizes, state
from kernelband.propose.model.functions import Unreadable, Uses, body_of, chain, uses
from kernelband.propose.model.rules import Change, Kind, Refused, Rules, function_of, is_dunder, refusal
from kernelband.propose.model.values import values
from kernelband.source.syntax import all_nodes

MAX_CHARACTERS = 60_000  # of one function
MAX_STRING = 400
MAX_NUMBER = 1 << 64
_PLAIN: tuple[type[ast.AST], ...] = (
    *(ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr),
    *(ast.Pass, ast.Break, ast.Continue, ast.Assert, ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call),
    *(ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice, ast.keyword, ast.Lambda),
    *(ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.JoinedStr, ast.FormattedValue),
    *(ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)
_HOST: tuple[type[ast.AST], ...] = (ast.Raise, ast.With, ast.withitem)
_ONLY_AS_BEFORE: tuple[type[ast.AST], ...] = (ast.Try, ast.ExceptHandler, ast.Delete)
_KINDS = {
    "Import": "an import",
    "ImportFrom": "an import",
    "Global": "a global statement",
    "Nonlocal": "a nonlocal statement",
    "ClassDef": "a class",
    "AsyncFunctionDef": "an async function",
    "Yield": "yield",
    "YieldFrom": "yield",
    "Await": "await",
    "Match": "a match statement",
    "With": "a with statement",
    "Raise": "a raise statement",
    "Try": "a try statement",
    "Delete": "a del statement",
}


def check(rules: Rules, text: str, indent: str = "") -> ast.FunctionDef:
    """The function that ``text`` (``indent`` deep) defines, if it may stand in for the one that the rules are for.

    Raises:
        Refused: it may not, with the line and the reason.
    """
    if len(text) > MAX_CHARACTERS:
        raise Refused(f"{rules.editable.label} has {len(text)} characters; at most {MAX_CHARACTERS} are read.")
    if "\0" in text or "\f" in text:
        raise Refused(f"{rules.editable.label} has control characters.")
    try:
        function = function_of(body_of(text, indent), rules.editable)
        found = uses(text, indent)
    except Unreadable as error:
        raise Refused(f"{rules.editable.label} isn't valid Python: {error}.") from error
    try:
        first = 1 if indent else 0
        _Check(rules, found, first).all(function)
        _whole(rules, found, function, first)
    except RecursionError as error:
        raise Refused(f"{rules.editable.label} is nested too deeply to be checked.") from error
    return function


def _whole(rules: Rules, found: Uses, function: ast.FunctionDef, first: int) -> None:
    """What can't be seen of single words: what is kept, read, and what the sizes of a call decide."""
    own, its = values(rules.before, rules.own.globals, rules.around), values(function, found.globals, rules.around)
    change = Change(rules, own, its, first)
    if not rules.editable.device:
        state.look(change)
    memory.look(change)
    sizes.look(change)


@define
class _Check:
    rules: Rules
    found: Uses
    first: int  # lines before the function's own in its tree
    _done: set[int] = field(factory=set[int])  # ids of nodes that need no further look

    def all(self, function: ast.FunctionDef) -> None:
        self._binds()
        self._signature(function)
        self._decorators(function)
        self._launches()
        for node in all_nodes(function):  # parents before children
            if id(node) not in self._done:
                self._node(node, function)

    def _refuse(self, node: ast.AST, why: str, kind: Kind = "name") -> Refused:
        return refusal(self.rules.editable, node, why, kind, self.first)

    # ------------------------------------------------------------ names

    def _binds(self) -> None:
        rules = self.rules
        both = (self.found.globals | rules.names | rules.kernels) & self.found.locals
        taken = sorted(both - rules.own.locals)
        if taken:
            raise Refused(f"{rules.editable.label}: {taken[0]} means something else here already: call the variable something else.")
        bad = sorted(n for n in self.found.locals | self.found.globals if is_dunder(n))
        if bad:
            raise Refused(f"{rules.editable.label}: the name {bad[0]} is not allowed.")

    def _launches(self) -> None:
        """A host function keeps its launches: another way to the result isn't a faster version of the kernel."""
        lost = sorted((self.rules.own.globals & self.rules.kernels) - self.found.globals)
        if lost and not self.rules.editable.device:
            raise Refused(f"{self.rules.editable.label} no longer launches {lost[0]}: the kernel must still do the work.")

    def _name(self, node: ast.Name) -> None:
        name, rules = node.id, self.rules
        if name not in self.found.globals:
            return
        meaning = rules.around.imports.get(name, "")
        first = meaning.partition(".")[0]
        if first in sys.stdlib_module_names:
            known = first in allowed.PLAIN and "." in meaning
        elif name in rules.around.bound or not hasattr(builtins, name):
            known = name in rules.names or name in rules.program.chains or meaning in allowed.DOTTED
        else:
            known = name in allowed.BUILTINS or (name == "print" and name in rules.program.chains)
        if not known:
            raise self._refuse(node, f"it uses {name}, which isn't on the list of what may be used")

    def _attribute(self, node: ast.Attribute) -> None:
        rules, name = self.rules, node.attr
        if is_dunder(name):
            raise self._refuse(node, f"the attribute {name} is not allowed")
        dotted = chain(node)
        root = dotted.partition(".")[0]
        if root and root in self.found.globals:
            if not isinstance(node.ctx, ast.Load):
                raise self._refuse(node, f"it assigns to {dotted}: nothing may outlive a call", "state")
            self._chain(node, dotted, root)
            return
        if not isinstance(node.ctx, ast.Load) and (rules.editable.device or name not in rules.program.stores):
            raise self._refuse(node, f"it assigns to an attribute, {name}: nothing may outlive a call", "state")
        if name not in rules.attributes:
            raise self._refuse(node, f"the attribute {name} is neither used by the original nor on the list of what may be used")

    def _chain(self, node: ast.Attribute, dotted: str, root: str) -> None:
        """``torch.empty``, ``tl.float32``, ``kernel.run``: a known beginning, then attributes of values."""
        rules = self.rules
        parts = dotted.split(".")
        meaning = rules.around.imports.get(root)
        own = rules.attributes - {"run", "warmup"} if root not in rules.kernels else frozenset({"run", "warmup"})
        for size in range(len(parts), 0, -1):
            beginning = ".".join(parts[:size])
            full = ".".join([meaning, *parts[1:size]]) if meaning is not None else ""
            plain = full.partition(".")[0] in allowed.PLAIN and full.count(".") == 1
            known = full in allowed.DOTTED or plain or (beginning in rules.program.chains and (size > 1 or not self._is_module(root)))
            if (known or (size == 1 and root in rules.kernels)) and all(p in own and not is_dunder(p) for p in parts[size:]):
                if full and full.partition(".")[0] in sys.stdlib_module_names and not plain:
                    break
                self._done |= {id(n) for n in all_nodes(node)}
                return
        raise self._refuse(node, f"it uses {dotted}, which the original doesn't and which isn't on the list of what may be used")

    def _is_module(self, name: str) -> bool:
        """Whether a name may be a module: then a way to anything in it. What an import brings may be one."""
        return name in self.rules.around.imports or (name in self.rules.around.bound and name not in self.rules.program.chains)

    # ------------------------------------------------------------ outside of the body

    def _signature(self, function: ast.FunctionDef) -> None:
        before = self.rules.before
        if getattr(function, "type_params", []):
            raise self._refuse(function, "it has type parameters", "form")
        if not self.rules.editable.device:
            same = ast.dump(function.args) == ast.dump(before.args) and _dump(function.returns) == _dump(before.returns)
            if not same:
                raise self._refuse(function, "a host function keeps its parameters, defaults and annotations: others call it", "form")
            self._done |= {id(n) for n in (*all_nodes(function.args), *(all_nodes(function.returns) if function.returns else ()))}
            return
        defaults = [d for d in (*function.args.defaults, *function.args.kw_defaults) if d is not None]
        known = {ast.dump(d) for d in (*before.args.defaults, *before.args.kw_defaults) if d is not None}
        for default in defaults:
            if not isinstance(default, ast.Constant) and ast.dump(default) not in known:
                raise self._refuse(default, "a default of a kernel's parameter must be a constant", "form")
        for part in (*_annotations(function),):
            if any(isinstance(n, (ast.Call, ast.Lambda, ast.NamedExpr)) for n in all_nodes(part)):
                raise self._refuse(part, "an annotation must be a plain name, as tl.constexpr", "form")

    def _decorators(self, function: ast.FunctionDef) -> None:
        known = {ast.dump(d) for d in self.rules.before.decorator_list}
        heads = [self._head(d) for d in self.rules.before.decorator_list]
        if not self.rules.editable.device:
            if [ast.dump(d) for d in function.decorator_list] != [ast.dump(d) for d in self.rules.before.decorator_list]:
                raise self._refuse(function, "a host function keeps its decorators", "form")
            self._done |= {id(n) for d in function.decorator_list for n in all_nodes(d)}
            return
        if [self._head(d) for d in function.decorator_list] != heads:
            raise self._refuse(function, "a kernel keeps its decorators, in their order; only what they are given may change", "form")
        for decorator, head in zip(function.decorator_list, heads, strict=True):
            if ast.dump(decorator) in known:
                self._done |= {id(n) for n in all_nodes(decorator)}
            elif head == "triton.jit" and isinstance(decorator, ast.Call):
                self._keywords(decorator, allowed.JIT_OPTIONS)
            elif head == "triton.autotune" and isinstance(decorator, ast.Call):
                self._autotune(decorator)
            elif head not in ("triton.jit", "triton.heuristics"):
                raise self._refuse(decorator, "this decorator may not change", "form")

    def _head(self, decorator: ast.expr) -> str:
        dotted = chain(decorator.func if isinstance(decorator, ast.Call) else decorator)
        root, _, rest = dotted.partition(".")
        meaning = self.rules.around.imports.get(root, root)
        full = f"{meaning}.{rest}" if rest else meaning
        return {"triton.runtime.jit.jit": "triton.jit"}.get(full, full) or ast.dump(decorator)

    def _keywords(self, call: ast.Call, known: frozenset[str]) -> None:
        for keyword in call.keywords:
            if keyword.arg not in known and keyword.arg not in self._old_keywords():
                raise self._refuse(call, f"the option {keyword.arg or '**'} may not be set here", "form")

    def _old_keywords(self) -> set[str]:
        """Options of the original's decorators that hold no code."""
        calls = [n for d in self.rules.before.decorator_list for n in all_nodes(d) if isinstance(n, ast.Call)]
        return {k.arg for c in calls for k in c.keywords if k.arg and isinstance(k.value, ast.Constant)}

    def _autotune(self, decorator: ast.Call) -> None:
        kept = {k.arg: ast.dump(k) for k in _call_keywords(self.rules.before)}
        for keyword in decorator.keywords:
            if keyword.arg in kept and ast.dump(keyword) == kept[keyword.arg]:
                self._done |= {id(n) for n in all_nodes(keyword)}
            elif keyword.arg not in allowed.AUTOTUNE_OPTIONS:
                raise self._refuse(decorator, f"the option {keyword.arg or '**'} of autotune may not change", "form")

    # ------------------------------------------------------------ the body

    def _node(self, node: ast.AST, function: ast.FunctionDef) -> None:
        rules = self.rules
        if not isinstance(node, _PLAIN):
            known = isinstance(node, _HOST) and not rules.editable.device
            if not known and not (isinstance(node, _ONLY_AS_BEFORE) and type(node) in rules.own.kinds):
                raise self._refuse(node, f"{_KINDS.get(type(node).__name__, type(node).__name__)} is not allowed")
        if isinstance(node, ast.FunctionDef) and node is not function and (node.decorator_list or getattr(node, "type_params", [])):
            raise self._refuse(node, "a function inside may have no decorators and no type parameters")
        if isinstance(node, ast.comprehension) and node.is_async:
            raise self._refuse(node, "an async comprehension is not allowed")
        if isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Constant):
            self._constant(node, function)
        elif isinstance(node, ast.withitem):
            self._with(node)

    def _call(self, node: ast.Call) -> None:
        dump = ast.dump(node)
        dotted = chain(node.func)
        root = dotted.partition(".")[0]
        meaning = self.rules.around.imports.get(root, "")
        risky = dotted in ("getattr", "hasattr") or (meaning.partition(".")[0] in sys.stdlib_module_names - allowed.PLAIN)
        if risky and root in self.found.globals and dump in self.rules.program.nodes and self._is_constant(node, dotted):
            self._done.add(id(node.func))
            self._done |= {id(n) for n in all_nodes(node.func)}
            return
        if any(k.arg is None for k in node.keywords) and dump not in self.rules.program.nodes:
            raise self._refuse(node, "a call may not unpack options with **")
        launch = isinstance(node.func, ast.Subscript) or dotted.endswith((".run", ".warmup", "Config"))
        if launch:
            for keyword in node.keywords:
                if keyword.arg is not None and keyword.arg not in self.rules.options and not keyword.arg[:1].isupper():
                    raise self._refuse(node, f"the option {keyword.arg} is not one that may be set")
        if dotted.endswith("Config"):
            self._config(node)

    def _config(self, node: ast.Call) -> None:
        for argument in node.args[:1]:
            if not isinstance(argument, ast.Dict) or not all(
                isinstance(k, ast.Constant) and isinstance(k.value, str) for k in argument.keys
            ):
                raise self._refuse(node, "a configuration must be a dictionary with names as keys")
            names = {str(k.value) for k in argument.keys if isinstance(k, ast.Constant)}
            bad = sorted(n for n in names if n not in self.rules.options and not n[:1].isupper())
            if bad:
                raise self._refuse(node, f"the option {bad[0]} is not one that may be set")

    def _is_constant(self, node: ast.Call, dotted: str) -> bool:
        rest = node.args[1:] if dotted in ("getattr", "hasattr") else node.args
        values = [*rest, *(k.value for k in node.keywords)]
        plain = all(isinstance(v, ast.Constant) for v in values)
        return plain and not any(isinstance(v, ast.Constant) and isinstance(v.value, str) and is_dunder(v.value) for v in values)

    def _constant(self, node: ast.Constant, function: ast.FunctionDef) -> None:
        value = node.value
        first = function.body[0]
        if isinstance(first, ast.Expr) and first.value is node:
            return
        if isinstance(value, (str, bytes)) and len(value) > MAX_STRING:
            raise self._refuse(node, f"a text of {len(value)} characters has no place in a kernel", "form")
        if isinstance(value, int) and abs(value) > MAX_NUMBER:
            raise self._refuse(node, "a number of more than 64 bits has no place in a kernel", "form")

    def _with(self, node: ast.withitem) -> None:
        dotted = chain(node.context_expr.func if isinstance(node.context_expr, ast.Call) else node.context_expr)
        root, _, rest = dotted.partition(".")
        full = f"{self.rules.around.imports.get(root, root)}.{rest}"
        if full not in ("torch.cuda.device", "torch.device") and dotted not in self.rules.program.chains:
            raise self._refuse(node.context_expr, "a with statement that the original doesn't have is not allowed")


def _dump(node: ast.AST | None) -> str:
    return "" if node is None else ast.dump(node)


def _annotations(function: ast.FunctionDef) -> Iterator[ast.expr]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    yield from (a.annotation for a in every if a is not None and a.annotation is not None)
    if function.returns is not None:
        yield function.returns


def _call_keywords(function: ast.FunctionDef) -> Iterator[ast.keyword]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call):
            yield from decorator.keywords

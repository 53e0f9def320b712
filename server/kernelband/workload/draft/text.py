"""A draft as code: sizes, dtype, one line for each argument, the call. What is guessed is marked in its line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence

from attrs import define, field

from kernelband.errors import UsageError
from kernelband.source.syntax import expression_tree
from kernelband.workload.draft import names
from kernelband.workload.draft.bare_kernel import Grid
from kernelband.workload.draft.guess import Guess, decide, shared_dtype, value_of
from kernelband.workload.draft.host import Host
from kernelband.workload.draft.sizes import Sizes, choose_sizes
from kernelband.workload.draft.values import GUESSED, Param, Shape, Tensor

DTYPE = "dtype"
DTYPES = frozenset(
    {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "float8_e4m3fn", "float8_e5m2"}
)
SMALL = {"int8": "-128, 128", "uint8": "0, 256", "int16": "-128, 128"}
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})


@define
class Writer:
    """``answers``: by the names of guesses, as they are written in the draft."""

    host: Host
    params: Sequence[Param]  # of the constructor and of what is called
    answers: Mapping[str, str]
    grid: Grid | None = None  # of a kernel that is launched by the draft itself
    made: Sequence[Shape] = ()  # of what the function makes for the kernel
    sizes: Sizes = field(init=False)
    dtype: tuple[str, str] = field(init=False)  # and why
    guesses: list[Guess] = field(factory=list[Guess])
    _dtype_name: str = DTYPE
    _lines: list[str] = field(factory=list[str])
    _uses_dtype: bool = False

    def __attrs_post_init__(self) -> None:
        passed = [p for p in self.params if p.default is None]
        own = {"torch", "triton", "module", "result", self.host.name, *(["out"] if self.host.backward else [])}
        for param in passed:
            decide(param)
            while param.label in own:  # no name in the draft stands for two things
                param.label += "_"
            own.add(param.label)
        self._dtype_name = next(n for n in (DTYPE, "input_dtype", "dtype_of_all") if n not in own)
        counts = {p.label for p in passed if p.kind == "int"}
        whole = {n: int(v) for n, v in self.answers.items() if v.isdecimal() and int(v) > 0}
        self.sizes = choose_sizes(passed, whole, (own - counts) | {DTYPE, "out"}, self.made)
        for label in self.sizes.labels.values():
            if label in self.answers and label not in whole:
                raise UsageError(f"{label}={self.answers[label]} is no size: say a whole number above 0.")
        self.dtype = shared_dtype(passed)
        if self._dtype_name in self.answers:
            name = self.answers[self._dtype_name].removeprefix("torch.")
            if name not in DTYPES:
                raise UsageError(f"{name} is no dtype that a draft can have: say one of {', '.join(sorted(DTYPES))}.")
            self.dtype = (name, "")

    def body(self, constructor: Sequence[Param], called: Sequence[Param]) -> list[str]:
        """The lines of the function, without indentation."""
        sizes_at = len(self._lines)
        for param in (*constructor, *called):
            if param.default is None:
                self._argument(param)
        self._lines[sizes_at:sizes_at] = [*self._sizes(), *self._dtype()]
        self._call(constructor, called)
        self._require_known()
        return self._lines

    def _require_known(self) -> None:
        offered = {g.name for g in self.guesses}
        self.guesses = [g for g in self.guesses if g.name not in self.answers]
        unknown = next((name for name in self.answers if name not in offered), None)
        if unknown is not None:
            raise UsageError(f"{unknown} is nothing that was guessed: of this draft you can say {', '.join(sorted(offered)) or 'nothing'}.")

    # ------------------------------------------------------------ lines

    def _line(self, code: str, comment: str = "") -> None:
        self._lines.append(f"{code}  # {comment}" if comment else code)

    def _sizes(self) -> list[str]:
        labels = [(root, label) for root, label in self.sizes.labels.items() if root in self.sizes.numbers]
        if not labels:
            return []
        found: list[Guess] = []
        for root, label in labels:
            why = f"one of {', '.join(map(str, root.allowed))}" if root.allowed else "a size that keeps a GPU busy"
            found.append(Guess(label, str(self.sizes.numbers[root]), why))
        self.guesses[:0] = found
        left, right = ", ".join(g.name for g in found), ", ".join(g.value for g in found)
        return [f"{left} = {right}" + ("" if all(g.name in self.answers for g in found) else f"  # {GUESSED}: sizes")]

    def _dtype(self) -> list[str]:
        """Where the sizes are noted already."""
        if not self._uses_dtype:
            return []
        name, why = self.dtype
        sizes = set(self.sizes.labels.values())
        self.guesses.insert(sum(g.name in sizes for g in self.guesses), Guess(self._dtype_name, name, why))
        return [f"{self._dtype_name} = torch.{name}" + (f"  # {GUESSED}: {why}" if why else "")]

    def _argument(self, param: Param) -> None:
        answer = self.answers.get(param.label)
        if answer is not None and self.sizes.labels.get(param.size.root) != param.label:
            self._line(f"{param.label} = {_expression(param.label, answer)}")
            self.guesses.append(Guess(param.label, answer, ""))
        elif param.kind in ("tensor", "tensors"):
            self._tensor(param)
        else:
            self._number(param)

    def _tensor(self, param: Param) -> None:
        tensor = param.tensor
        if param.value:
            self._guessed(param, param.value, tensor.why)
            return
        code = self._made(param)
        if param.kind == "tensors":
            code = f"[{code} for _ in range(4)]"
        whys = [] if param.why and not param.why.startswith(GUESSED) else [param.why.removeprefix(f"{GUESSED}: ") or "that it is a tensor"]
        guessed = tensor.why.startswith(f"{GUESSED}: ")
        if guessed:
            whys.append(tensor.why.removeprefix(f"{GUESSED}: "))
        if whys:
            self.guesses.append(Guess(param.label, code, "; ".join(whys)))
        self._line(f"{param.label} = {code}", f"{GUESSED}: {'; '.join(whys)}" if whys else tensor.why)

    def _made(self, param: Param) -> str:
        tensor = param.tensor
        dims = ", ".join(self.sizes.text(d) for d in tensor.shape.dims()) or "1"
        group = f"({dims},)" if "," not in dims else f"({dims})"
        dtype = tensor.dtype.root.name
        places = tensor.integer or (dtype is None and names.holds_places(param.name) and not (tensor.half or tensor.full))
        if tensor.boolean or dtype == "bool":
            return f'torch.randint(0, 2, {group}, device="cuda", dtype=torch.bool)'
        if places or dtype in INTEGERS:
            kind = "" if dtype in (None, "int64") else f", dtype=torch.{dtype}"
            if not tensor.loaded and tensor.stored:
                return f'torch.empty({dims}, device="cuda", dtype=torch.{dtype or "int64"})'
            if names.holds_ends(param.name):
                return f'torch.linspace(0, {self._most(tensor)}, {dims}, device="cuda").to(torch.{dtype or "int32"})'
            if tensor.scattered and places:  # no place twice: what is stored there last would be by chance
                to = "" if dtype in (None, "int64") else f".to(torch.{dtype})"
                return f'torch.randperm({self._most(tensor)}, device="cuda"){to}[:{dims}]'
            bound = SMALL.get(dtype or "") if not places else None
            return f'torch.randint({bound or f"0, {self._most(tensor)}"}, {group}, device="cuda"{kind})'
        if dtype is not None:
            kind = f"torch.{dtype}"
        else:
            kind, self._uses_dtype = self._dtype_name, True
        if dtype is not None and dtype.startswith("float8"):
            return f'torch.randn({dims}, device="cuda").to({kind})'
        function = "randn" if tensor.loaded or not tensor.stored else "zeros" if tensor.scattered else "empty"
        grad = ", requires_grad=True" if self.host.backward and function == "randn" else ""
        return f'torch.{function}({dims}, device="cuda", dtype={kind}{grad})'

    def _most(self, tensor: Tensor) -> str:
        """One more than the largest place that it may hold."""
        if tensor.index_of is not None and tensor.index_of[0].shape.root.rank is not None:
            other, at = tensor.index_of
            return self.sizes.text(other.shape.dim(at))
        main = next((p.tensor.shape for p in self.params if p.kind == "tensor" and (p.tensor.shape.root.rank or 0) > 1), None)
        return self.sizes.text(main.dim(-1)) if main is not None and main.root is not tensor.shape.root else "2"

    def _number(self, param: Param) -> None:
        root = param.size.root
        if param.value:
            self._guessed(param, param.value, param.why)
        elif param.kind == "int" and (
            root in self.sizes.numbers or root.value is not None or root.formula is not None or root.numel is not None
        ):
            text = self.sizes.text(root)
            if text != param.label:
                self._line(f"{param.label} = {text}")
        else:
            value, why = value_of(param, self.sizes)
            self._guessed(param, value, why)

    def _guessed(self, param: Param, value: str, why: str) -> None:
        if why.startswith("as "):
            self._line(f"{param.label} = {value}", why)
            return
        self.guesses.append(Guess(param.label, value, why))
        self._line(f"{param.label} = {value}", f"{GUESSED}: {why}")

    def _grid(self, grid: Grid) -> str:
        over = self.sizes.text(grid.over)
        if grid.tuned:
            return f'lambda meta: (triton.cdiv({over}, meta["{grid.by}"]),)'
        by = next((p.label for p in self.params if p.name == grid.by), "")
        return f"(triton.cdiv({over}, {by}),)" if by else f"({over},)"

    def _call(self, constructor: Sequence[Param], called: Sequence[Param]) -> None:
        host = self.host
        function = host.called
        if host.kind == "method":
            to = f", dtype={self._dtype_name}" if self._uses_dtype else ""
            is_module = host.owner is not None and any(ast_name.endswith("Module") for ast_name in _bases(host))
            made = f"{host.name}({_passed(constructor)})"
            self._line(f"module = {made}" + (f'.to(device="cuda"{to})' if is_module else ""))
            method = host.function.place.name
            function = "module" if is_module and method == "forward" else "module" if method == "__call__" else f"module.{method}"
        if self.grid is not None:
            function = f"{host.name}[{self._grid(self.grid)}]"
        call = f"{function}({_passed(called)})"
        if not host.backward:
            self._line(call)
            return
        self._line(f"out = {call}" if _is_plain(host) else f"result = {call}")
        if not _is_plain(host):
            self._line("out = result[0] if isinstance(result, tuple) else result")
        self._line("out.backward(torch.randn_like(out))")


def _passed(params: Sequence[Param]) -> str:
    """Arguments by place as long as nothing before them is left out."""
    out: list[str] = []
    by_name = False
    for param in params:
        if param.default is not None:
            by_name = True
        else:
            out.append(f"{param.name}={param.label}" if by_name or param.keyword_only else param.label)
    return ", ".join(out)


def _bases(host: Host) -> list[str]:
    node = host.owner.node if host.owner is not None else None
    return [ast.unparse(b) for b in node.bases] if isinstance(node, ast.ClassDef) else []


def _is_plain(host: Host) -> bool:
    """Whether what it returns is one tensor, as far as that is written."""
    returned = [n.value for n in ast.walk(host.function.node) if isinstance(n, ast.Return)]
    return all(isinstance(r, (ast.Name, ast.Call)) for r in returned)


def _expression(name: str, text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expression_tree(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{name}={text} is no Python expression: say what the draft shall have there.") from error
    return text.strip()

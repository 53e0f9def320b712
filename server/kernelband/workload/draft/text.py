"""A draft as code: sizes, dtype, one line for each argument, the call. What is guessed is marked in its line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from kernelband.errors import UsageError
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.workload.draft import names
from kernelband.workload.draft.bare_kernel import Grid
from kernelband.workload.draft.host import Host
from kernelband.workload.draft.sizes import Sizes, choose_sizes
from kernelband.workload.draft.values import GUESSED, Kind, Param, Shape, Tensor, tensor_of

DTYPE = "dtype"
SMALL = {"int8": "-128, 128", "uint8": "0, 256", "int16": "-128, 128"}
INTEGERS = frozenset({*SMALL, "int32", "int64"})
DTYPES = INTEGERS | {"float16", "bfloat16", "float32", "float64", "bool", "float8_e4m3fn", "float8_e5m2"}
UNKNOWN = "1"
QUIET = ("return_", "inplace", "in_place", "debug", "verbose", "transpose", "interleaved", "output_")
#: What is taken where no name says which.
PLAIN: dict[Kind | None, tuple[str, str]] = {
    "str": ('""', "by its name"),
    "dtype": ("torch.float16", "by its name"),
    "device": ('"cuda"', "by its name"),
    "float": ("1.0", "nothing says how large it is"),
}


@frozen
class Guess:
    """What the program doesn't say: ``value`` stands in the draft under ``name``, because of ``why``."""

    name: str
    value: str
    why: str


@define
class Writer:
    """``answers``: by the names of guesses, as they are written in the draft."""

    host: Host
    constructor: Sequence[Param]
    called: Sequence[Param]
    answers: Mapping[str, str]
    grid: Grid | None = None  # of a kernel that is launched by the draft itself
    made: Sequence[Shape] = ()  # of what the function makes for the kernel
    sizes: Sizes = field(init=False)
    guesses: list[Guess] = field(factory=list[Guess])
    _dtype: str = DTYPE  # what the draft calls it
    _lines: list[str] = field(factory=list[str])
    _uses_dtype: bool = False

    def body(self) -> list[str]:
        """The lines of the function, without indentation.

        Raises:
            UsageError: an answer to nothing that was guessed, or one that makes no sense.
        """
        passed = [p for p in (*self.constructor, *self.called) if p.default is None]
        own = {"torch", "triton", "module", "result", self.host.name, *(["out"] if self.host.backward else [])}
        for param in passed:
            _decide(param)
            while param.label in own:  # no name in the draft stands for two things
                param.label += "_"
            own.add(param.label)
        self._dtype = next(n for n in (DTYPE, "input_dtype", "dtype_of_all") if n not in own)
        counts = {p.label for p in passed if p.kind == "int"}
        self.sizes = choose_sizes(passed, self._whole(), (own - counts) | {DTYPE, "out"}, self.made)
        for param in passed:
            self._argument(param)
        arguments, self._lines, guessed, self.guesses = self._lines, [], self.guesses, []
        self._head(*_shared_dtype(passed))
        self._lines += arguments
        self._call()
        self.guesses += guessed
        offered = {g.name for g in self.guesses}
        self.guesses = [g for g in self.guesses if g.name not in self.answers]
        unknown = next((name for name in self.answers if name not in offered), None)
        if unknown is not None:
            raise UsageError(f"{unknown} is nothing that was guessed: of this draft you can say {', '.join(sorted(offered)) or 'nothing'}.")
        return self._lines

    def _whole(self) -> dict[str, int]:
        """The answers that may be sizes."""
        return {n: int(v) for n, v in self.answers.items() if v.isdecimal() and int(v) > 0}

    # ------------------------------------------------------------ lines

    def _line(self, code: str, comment: str = "") -> None:
        self._lines.append(f"{code}  # {comment}" if comment else code)

    def _guess(self, name: str, value: str, why: str) -> None:
        """A line, and that it is guessed."""
        self.guesses.append(Guess(name, value, why))
        self._line(f"{name} = {value}", f"{GUESSED}: {why}" if why else "")

    def _head(self, dtype: str, why: str) -> None:
        """The sizes, and the dtype where a tensor has it."""
        refused = next((n for n in self.sizes.labels.values() if n in self.answers and n not in self._whole()), None)
        if refused is not None:
            raise UsageError(f"{refused}={self.answers[refused]} is no size: say a whole number above 0.")
        labels = {label: root for root, label in self.sizes.labels.items() if root in self.sizes.numbers}
        for label, root in labels.items():
            said = f"one of {', '.join(map(str, root.allowed))}" if root.allowed else "a size that keeps a GPU busy"
            self.guesses.append(Guess(label, str(self.sizes.numbers[root]), said))
        if labels:
            left, right = ", ".join(labels), ", ".join(g.value for g in self.guesses)
            self._line(f"{left} = {right}", "" if self.answers.keys() >= labels.keys() else f"{GUESSED}: sizes")
        answer = self.answers.get(self._dtype, dtype).removeprefix("torch.")
        if answer not in DTYPES:
            raise UsageError(f"{answer} is no dtype that a draft can have: say one of {', '.join(sorted(DTYPES))}.")
        if self._uses_dtype:
            why = "" if self._dtype in self.answers else f"{GUESSED}: {why}"
            self.guesses.append(Guess(self._dtype, answer, why.removeprefix(f"{GUESSED}: ")))
            self._line(f"{self._dtype} = torch.{answer}", why)

    def _argument(self, param: Param) -> None:
        root, label, tensor = param.size.root, param.label, param.tensor
        answer = self.answers.get(label)
        if answer is not None and not (self.sizes.labels.get(root) == label and root in self.sizes.numbers):
            self._guess(label, _expression(label, answer), "")
        elif param.value and param.why.startswith("as "):
            self._line(f"{label} = {param.value}", param.why)
        elif param.value:
            self._guess(label, param.value, param.why)
        elif param.kind in ("tensor", "tensors"):
            code = self._made(param) if param.kind == "tensor" else f"[{self._made(param)} for _ in range(4)]"
            said = bool(param.why) and not param.why.startswith(GUESSED)
            kind = "" if said else param.why.removeprefix(f"{GUESSED}: ") or "that it is a tensor"
            shape = tensor.why.removeprefix(f"{GUESSED}: ") if tensor.why.startswith(GUESSED) else ""
            if kind or shape:
                self._guess(label, code, "; ".join(w for w in (kind, shape) if w))
            else:
                self._line(f"{label} = {code}", tensor.why)
        elif param.kind == "int" and (root in self.sizes.numbers or root.value is not None or root.formula or root.numel):
            text = self.sizes.text(root)
            if text != label:
                self._line(f"{label} = {text}")
        else:
            self._guess(label, *_value_of(param, self.sizes))

    def _made(self, param: Param) -> str:
        tensor, marks, dtype = param.tensor, param.tensor.marks, param.tensor.dtype.root.name
        dims = ", ".join(self.sizes.text(d) for d in tensor.shape.dims()) or "1"
        group = f"({dims},)" if "," not in dims else f"({dims})"
        sounds = dtype is None and names.sounds_like("places", param.name) and marks.isdisjoint(("half", "full"))
        places = "integer" in marks or sounds
        if "boolean" in marks or dtype == "bool":
            return f'torch.randint(0, 2, {group}, device="cuda", dtype=torch.bool)'
        written = "stored" in marks and "loaded" not in marks
        if places or dtype in INTEGERS:
            other = dtype not in (None, "int64")
            if written:
                return f'torch.empty({dims}, device="cuda", dtype=torch.{dtype or "int64"})'
            if names.sounds_like("ends", param.name):
                return f'torch.linspace(0, {self._most(tensor)}, {dims}, device="cuda").to(torch.{dtype or "int32"})'
            if "scattered" in marks and places:  # no place twice: what is stored there last would be by chance
                return f'torch.randperm({self._most(tensor)}, device="cuda"){f".to(torch.{dtype})" if other else ""}[:{dims}]'
            bounds = SMALL.get(dtype or "") if not places else None
            kind = f", dtype=torch.{dtype}" if other else ""
            return f'torch.randint({bounds or f"0, {self._most(tensor)}"}, {group}, device="cuda"{kind})'
        self._uses_dtype = self._uses_dtype or dtype is None
        kind = f"torch.{dtype}" if dtype is not None else self._dtype
        if kind.startswith("torch.float8"):
            return f'torch.randn({dims}, device="cuda").to({kind})'
        function = "randn" if not written else "zeros" if "scattered" in marks else "empty"
        grad = ", requires_grad=True" if self.host.backward and function == "randn" else ""
        return f'torch.{function}({dims}, device="cuda", dtype={kind}{grad})'

    def _most(self, tensor: Tensor) -> str:
        """One more than the largest place that it may hold."""
        if tensor.index_of is not None and tensor.index_of[0].shape.root.rank is not None:
            other, at = tensor.index_of
            return self.sizes.text(other.shape.dim(at))
        main = next((p.tensor.shape for p in (*self.constructor, *self.called) if p.kind == "tensor" and p.tensor.shape.rows > 1), None)
        return self.sizes.text(main.dim(-1)) if main is not None and main.root is not tensor.shape.root else "2"

    def _call(self) -> None:
        host, function = self.host, self.host.called
        if host.kind == "method":
            is_module = host.owner is not None and any(base.endswith("Module") for base in host.owner.bases)
            to = f", dtype={self._dtype}" if self._uses_dtype else ""
            self._line(f"module = {host.name}({_passed(self.constructor)})" + (f'.to(device="cuda"{to})' if is_module else ""))
            method = host.function.place.name
            function = "module" if method == "__call__" or (is_module and method == "forward") else f"module.{method}"
        if self.grid is not None:
            function = f"{host.name}[{self._grid(self.grid)}]"
        call = f"{function}({_passed(self.called)})"
        if not host.backward:
            self._line(call)
            return
        returned = [n.value for n in all_nodes(host.function.node) if isinstance(n, ast.Return)]
        if all(isinstance(r, (ast.Name, ast.Call)) for r in returned):  # one tensor, as far as that is written
            self._line(f"out = {call}")
        else:
            self._line(f"result = {call}")
            self._line("out = result[0] if isinstance(result, tuple) else result")
        self._line("out.backward(torch.randn_like(out))")

    def _grid(self, grid: Grid) -> str:
        over = self.sizes.text(grid.over)
        if grid.tuned:
            return f'lambda meta: (triton.cdiv({over}, meta["{grid.by}"]),)'
        by = next((p.label for p in self.called if p.name == grid.by), "")
        return f"(triton.cdiv({over}, {by}),)" if by else f"({over},)"


def _passed(params: Sequence[Param]) -> str:
    """Arguments by place as long as nothing before them is left out."""
    out: list[str] = []
    by_name = False
    for param in params:
        by_name = by_name or param.keyword_only or param.default is not None
        if param.default is None:
            out.append(f"{param.name}={param.label}" if by_name else param.label)
    return ", ".join(out)


def _expression(name: str, text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expression_tree(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{name}={text} is no Python expression: say what the draft shall have there.") from error
    return text.strip()


# ------------------------------------------------------------ what may be meant, by names and by what the kernel does


def _decide(param: Param) -> None:
    """A kind for a parameter that has none yet."""
    if param.kind is not None:
        return
    name, root = param.name, param.size.root
    number = names.number_of_name(name)
    if param.choices and isinstance(param.choices[0], bool) and number is None:
        param.is_a("bool", f"{GUESSED}: it is asked whether it is true")
    elif param.choices and all(type(c) is int for c in param.choices):
        param.is_a("int", "it is compared with numbers")
    elif param.fraction:
        param.is_a("float", "the kernel calculates with it")
    elif len(root.names) > 1 or root.value is not None:
        param.is_a("int", "it is a size")
    elif number is not None:
        return
    elif names.sounds_like("flag", name) and not names.sounds_like("vector", name):
        param.is_a("bool", f"{GUESSED}: by its name")
    elif names.sounds_like("places", name) or names.sounds_like("vector", name):
        param.is_a("tensor", f"{GUESSED}: that it is a tensor")
    elif names.size_of_name([name]) is not None:
        param.is_a("int", f"{GUESSED}: by its name")


def _value_of(param: Param, sizes: Sizes) -> tuple[str, str]:
    """A number, word or the like, as it is written, and why."""
    said, root, by_name = names.number_of_name(param.name), param.size.root, "by its name"
    match param.kind:
        case "bool":
            return ("False" if param.name.lower().startswith(QUIET) else "True"), "either may be meant"
        case "str" if any(isinstance(c, str) for c in param.choices):
            word = max((c for c in param.choices if isinstance(c, str)), key=bool)  # the first that isn't empty
            return f'"{word}"', f"one of {', '.join(map(repr, dict.fromkeys(param.choices)))}"
        case "ints":
            return f"[{', '.join(['128'] * (root.value or 2))}]", "nothing says which"
        case "int":
            whole = int(said) if said is not None and said.removeprefix("-").isdecimal() else None
            bounded = root.allowed or root.most is not None or root.divides or root.multiple > 1
            if said is not None and whole is not None and not (bounded and whole > 0):
                return said, by_name
            guess = whole or names.size_of_name([param.name])
            return str(sizes.fitting(root, guess or 1)), by_name if guess else "nothing says how large it is"
        case "float" if said is not None and not said.replace("-", "").replace(".", "").replace("e", "").isdigit():
            return "1.0", by_name
        case "dtype" | "device":
            return PLAIN[param.kind]
        case _:
            return (said, by_name) if said else PLAIN.get(param.kind, (UNKNOWN, f"nothing says what {param.name} is"))


def _shared_dtype(params: Sequence[Param]) -> tuple[str, str]:
    """Of all tensors whose dtype nothing says."""
    tensors = [t for p in params if (t := tensor_of(p)) is not None]
    said = next((t.dtype.root.name for t in tensors if t.dtype.root.name in ("float16", "bfloat16", "float32")), None)
    if said is not None:
        return said, "as that of another tensor"
    if any("full" in t.marks for t in tensors):
        return "float32", "the kernel calculates with what it loads as it is"
    if any("half" in t.marks for t in tensors):
        return "float16", "half precision, since the kernel calculates in float32"
    return "float32", "any may be meant"

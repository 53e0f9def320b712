"""A draft as code: sizes, dtype, one line for each argument, the call. What is guessed is marked in its line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from kernelband.errors import UsageError
from kernelband.source.syntax import expression_tree
from kernelband.workload.draft import names
from kernelband.workload.draft.host import Host
from kernelband.workload.draft.sizes import Sizes, choose_sizes
from kernelband.workload.draft.values import Param, Tensor

DTYPE = "dtype"
DTYPES = frozenset(
    {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "float8_e4m3fn", "float8_e5m2"}
)
SMALL = {"int8": "-128, 128", "uint8": "0, 256", "int16": "-128, 128"}
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})
UNKNOWN = "1"
GUESSED = "guessed"
QUIET = ("return_", "inplace", "in_place", "debug", "verbose", "transpose", "interleaved", "output_")


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
    params: Sequence[Param]  # of the constructor and of what is called
    answers: Mapping[str, str]
    sizes: Sizes = field(init=False)
    dtype: tuple[str, str] = field(init=False)  # and why
    guesses: list[Guess] = field(factory=list[Guess])
    _lines: list[str] = field(factory=list[str])
    _uses_dtype: bool = False

    def __attrs_post_init__(self) -> None:
        passed = [p for p in self.params if p.default is None]
        for param in passed:
            _decide(param)
        taken = {p.name for p in self.params if p.kind != "int"} | {DTYPE, "torch", "triton", "module", "result", "out", self.host.name}
        whole = {n: int(v) for n, v in self.answers.items() if v.isdecimal() and int(v) > 0}
        self.sizes = choose_sizes(passed, whole, taken)
        self.dtype = _shared_dtype(passed)
        if DTYPE in self.answers:
            name = self.answers[DTYPE].removeprefix("torch.")
            if name not in DTYPES:
                raise UsageError(f"{self.answers[DTYPE]} is no dtype that a draft can have: say one of {', '.join(sorted(DTYPES))}.")
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
        unknown = [name for name in self.answers if name not in {g.name for g in self.guesses}]
        if unknown:
            there = ", ".join(g.name for g in self.guesses) or "nothing"
            raise UsageError(f"{unknown[0]} is nothing that was guessed: of this draft {there} can be said.")

    # ------------------------------------------------------------ lines

    def _line(self, code: str, comment: str = "") -> None:
        self._lines.append(f"{code}  # {comment}" if comment else code)

    def _sizes(self) -> list[str]:
        labels = [(root, label) for root, label in self.sizes.labels.items() if root in self.sizes.numbers]
        for root, label in labels:
            why = "a size that keeps a GPU busy"
            if root.allowed:
                why = f"one of {', '.join(map(str, root.allowed))}"
            self.guesses.insert(0, Guess(label, str(self.sizes.numbers[root]), why))
        if not labels:
            return []
        self.guesses[: len(labels)] = reversed(self.guesses[: len(labels)])
        left, right = ", ".join(label for _, label in labels), ", ".join(str(self.sizes.numbers[root]) for root, _ in labels)
        asked = all(label in self.answers for _, label in labels)
        return [f"{left} = {right}" + ("" if asked else f"  # {GUESSED}: sizes")]

    def _dtype(self) -> list[str]:
        if not self._uses_dtype:
            return []
        name, why = self.dtype
        self.guesses.insert(
            len([g for g in self.guesses if g.name in self.sizes.labels.values()]), Guess(DTYPE, name, why or "as you said")
        )
        return [f"dtype = torch.{name}" + (f"  # {GUESSED}: {why}" if why else "")]

    def _argument(self, param: Param) -> None:
        answer = self.answers.get(param.name)
        if answer is not None and self.sizes.labels.get(param.size.root) != param.name:
            self._line(f"{param.name} = {_expression(param.name, answer)}")
            self.guesses.append(Guess(param.name, answer, "as you said"))
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
            self.guesses.append(Guess(param.name, code, "; ".join(whys)))
        self._line(f"{param.name} = {code}", f"{GUESSED}: {'; '.join(whys)}" if whys else tensor.why)

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
            if param.name.startswith("cu_seq"):
                return f'torch.tensor([0, {self._most(tensor)}], device="cuda", dtype=torch.int32)'
            if tensor.scattered and places:  # no place twice: what is stored there last would be by chance
                to = "" if dtype in (None, "int64") else f".to(torch.{dtype})"
                return f'torch.randperm({self._most(tensor)}, device="cuda"){to}[:{dims}]'
            bound = SMALL.get(dtype or "") if not places else None
            return f'torch.randint({bound or f"0, {self._most(tensor)}"}, {group}, device="cuda"{kind})'
        if dtype is not None:
            kind = f"torch.{dtype}"
        else:
            kind, self._uses_dtype = DTYPE, True
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
            if text != param.name:
                self._line(f"{param.name} = {text}")
        else:
            value, why = _value(param, self.sizes)
            self._guessed(param, value, why)

    def _guessed(self, param: Param, value: str, why: str) -> None:
        if why.startswith("as "):
            self._line(f"{param.name} = {value}", why)
            return
        self.guesses.append(Guess(param.name, value, why))
        self._line(f"{param.name} = {value}", f"{GUESSED}: {why}")

    def _call(self, constructor: Sequence[Param], called: Sequence[Param]) -> None:
        host = self.host
        function = host.called
        if host.kind == "method":
            to = ", dtype=dtype" if self._uses_dtype else ""
            is_module = host.owner is not None and any(ast_name.endswith("Module") for ast_name in _bases(host))
            made = f"{host.name}({_passed(constructor)})"
            self._line(f"module = {made}" + (f'.to(device="cuda"{to})' if is_module else ""))
            method = host.function.place.name
            function = "module" if is_module and method == "forward" else "module" if method == "__call__" else f"module.{method}"
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
            out.append(f"{param.name}={param.name}" if by_name or param.keyword_only else param.name)
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


# ------------------------------------------------------------ what nothing says


def _decide(param: Param) -> None:
    """A kind for a parameter that has none yet."""
    if param.kind is not None:
        return
    name = param.name
    if param.choices and isinstance(param.choices[0], bool) and names.number_of_name(name) is None:
        param.is_a("bool", f"{GUESSED}: it is asked whether it is true")
    elif param.choices and all(type(c) is int for c in param.choices):
        param.is_a("int", "it is compared with numbers")
    elif param.fraction:
        param.is_a("float", "the kernel calculates with it")
    elif len(param.size.root.names) > 1 or param.size.root.exact:
        param.is_a("int", "it is a size")
    elif names.number_of_name(name) is not None:
        return
    elif names.is_flag(name) and not names.is_vector(name):
        param.is_a("bool", f"{GUESSED}: by its name")
    elif names.holds_places(name) or names.is_vector(name):
        param.is_a("tensor", f"{GUESSED}: that it is a tensor")
    elif names.size_of_name([name]) is not None:
        param.is_a("int", f"{GUESSED}: by its name")


def _value(param: Param, sizes: Sizes) -> tuple[str, str]:
    """A number, word or the like, as it is written, and why."""
    said = names.number_of_name(param.name)
    by_name = "by its name"
    root = param.size.root
    if param.kind == "bool":
        return ("False" if param.name.lower().startswith(QUIET) else "True"), "either may be meant"
    if param.kind == "str":
        words = [c for c in param.choices if isinstance(c, str) and c] or [c for c in param.choices if isinstance(c, str)]
        return (f'"{words[0]}"', f"one of {', '.join(map(repr, dict.fromkeys(param.choices)))}") if words else (said or '""', by_name)
    if param.kind == "dtype":
        return "torch.float16", by_name
    if param.kind == "device":
        return '"cuda"', by_name
    if param.kind == "float":
        value = said if said is not None and said.replace("-", "").replace(".", "").replace("e", "").isdigit() else "1.0"
        return value, by_name if said else "nothing says how large it is"
    if param.kind == "int":
        whole = said if said is not None and said.removeprefix("-").isdecimal() else None
        size = names.size_of_name([param.name])
        bounded = root.allowed or root.least is not None or root.most is not None or root.divides or root.multiple > 1
        if whole is not None and not (bounded and int(whole) > 0):
            return whole, by_name
        guess = int(whole) if whole is not None else size if size is not None else 1
        return str(sizes.fitting(root, guess)), by_name if whole or size else "nothing says how large it is"
    return said or UNKNOWN, by_name if said else f"nothing says what {param.name} is"


def _shared_dtype(params: Sequence[Param]) -> tuple[str, str]:
    """Of all tensors whose dtype nothing says."""
    tensors = [p.tensor for p in params if p.kind in ("tensor", "tensors")]
    said = next((t.dtype.root for t in tensors if t.dtype.root.name in ("float16", "bfloat16", "float32")), None)
    if said is not None and said.name is not None:
        return said.name, "as that of another tensor"
    if any(t.full for t in tensors):
        return "float32", "the kernel calculates with what it loads as it is"
    if any(t.half for t in tensors):
        return "float16", "half precision, since the kernel calculates in float32"
    return "float32", "any may be meant"

"""A function's parameters, as far as its head, its docstring and the comments beside them say what they are."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kernelband.workload.draft.code import Definition
from kernelband.workload.draft.values import Kind, Param, Size

_NAMED_DIMS = re.compile(r"""^(\w+)\[.*Tensor\s*,\s*["']([^"']+)["']\s*\]""")  # Float[Tensor, "batch dim"]
_SEVERAL = re.compile(r"(?:typing\.)?(?:List|list|Sequence|Iterable|Tuple|tuple)\[\s*(int\b)?")
_GROUP = re.compile(r"[(\[]\s*((?:\.\.\.|\*|\w+)(?:\s*[,x×]\s*\w+)*)\s*,?\s*[)\]]")
_HEAD = re.compile(
    r"^\s*(?:[-*]\s+|:param\s+|@param\s+)?[`*]*(\w+(?:\s*(?:,|\band\b)\s*\w+)*?)[`*]*"
    r"\s*(?::|\(|--?\s|–|=|\bare\b|\bis\b|\bhave\b|\bhas\b|\bof shape\b)"
)
_NO_DIMS = frozenset(
    {"optional", "int", "float", "bool", "str", "tensor", "torch", "default", "in", "out", "required", "none", "list", "scalar"}
)
_SAID_DTYPE = re.compile(r"\b(float16|bfloat16|float32|float64|fp16|bf16|fp32|int64|int32|int8|uint8|long|half)\b", re.IGNORECASE)
_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "long": "int64", "half": "float16"}
_TENSORS = {"Int": "int64", "Int64": "int64", "Long": "int64", "Int32": "int32", "LongTensor": "int64", "IntTensor": "int32"}
PLAIN: tuple[Kind, ...] = ("bool", "int", "float", "str", "dtype", "device")
BY_TYPE: dict[type, Kind] = {bool: "bool", int: "int", float: "float", str: "str"}
ANNOTATION = "its annotation"


def parameters(function: Definition, *, bound: bool) -> list[Param]:
    """Those that a caller gives; ``bound``: the first one is self, cls or ctx."""
    if isinstance(function.node, ast.ClassDef):
        return []
    known: dict[str, Size] = {}
    defaults = [d for _, d in function.positional]
    pairs = zip(function.arguments, [*defaults, *function.node.args.kw_defaults], strict=True)
    return [_parameter(a, d, known, keyword_only=at >= len(defaults)) for at, (a, d) in enumerate(pairs) if at or not bound]


def _parameter(arg: ast.arg, default: ast.expr | None, known: dict[str, Size], *, keyword_only: bool) -> Param:
    annotation = ast.unparse(arg.annotation).strip("\"'") if arg.annotation is not None else ""
    param = Param(arg.arg, default, keyword_only)
    _annotated(param, annotation, set(re.findall(r"\w+", annotation)), known)
    value = default.value if isinstance(default, ast.Constant) else None
    if type(value) in BY_TYPE:
        param.is_a(BY_TYPE[type(value)], "its default")
    return param


def _annotated(param: Param, said: str, words: set[str], known: dict[str, Size]) -> None:
    param.optional = not words.isdisjoint(("Optional", "None"))
    named, several = _NAMED_DIMS.match(said), _SEVERAL.match(said)
    dtype = next((_TENSORS[w] for w in ((named[1],) if named is not None else sorted(words)) if w in _TENSORS), None)
    if named is not None:
        param.is_a("tensor", ANNOTATION)
        _name_dims(param, named[2].split(), ANNOTATION, known)
        if named[1] == "Bool":
            dtype = "bool"
    elif any(w.endswith("Tensor") for w in words):
        param.is_a("tensors" if several is not None else "tensor", ANNOTATION)
    elif several is not None and several[1]:
        param.is_a("ints", ANNOTATION)
    elif "Literal" in words:
        param.choices = tuple(int(s) if s.isdecimal() else s.strip("'") for s in re.findall(r"'[^']*'|\b\d+\b", said))
        param.is_a("str" if param.choices and isinstance(param.choices[0], str) else "int", ANNOTATION)
    elif not words & {"List", "list", "Tuple", "tuple", "Callable"}:
        for kind in PLAIN:
            if kind in words:
                param.is_a(kind, ANNOTATION)
    if dtype is not None and param.kind in ("tensor", "tensors"):
        param.tensor.dtype.set(dtype, ANNOTATION)


# ------------------------------------------------------------ what is written beside them


def apply_words(function: Definition, text: str, params: Sequence[Param], names: Mapping[str, Size]) -> None:
    """Shapes and dtypes from the docstring and from comments, where the code says nothing else.

    Args:
        function: the function.
        text: of its file.
        params: its parameters.
        names: sizes that the body has names for; a dimension of that name is that size.
    """
    by_name, known = {p.name: p for p in params}, dict(names)
    for name, said in _comments(function, ["", *text.splitlines()]):
        if name in by_name:
            _apply(by_name[name], said, "a comment", known)
    doc = ast.get_docstring(function.node) or ""
    for name, said in _parts(doc, by_name):
        _apply(by_name[name], said, "the docstring", known)


def _comments(function: Definition, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Beside a parameter that has its line for itself, or above it."""
    counts = Counter(a.lineno for a in function.arguments)
    for arg in function.arguments:
        line, above = lines[arg.lineno], lines[arg.lineno - 1].strip()
        said = line.partition("#")[2] or (above.removeprefix("#") if above.startswith("#") else "")
        if counts[arg.lineno] == 1 and said:
            yield arg.arg, said


def _parts(doc: str, names: Mapping[str, Param]) -> list[tuple[str, str]]:
    """What a docstring says of each parameter: from its name on to the next one's, or to an empty line."""
    out: list[tuple[list[str], list[str]]] = [([], [])]
    for line in doc.splitlines():
        head = _HEAD.match(line)
        heads = [n for n in re.split(r"\s*(?:,|\band\b)\s*", head[1]) if n in names] if head is not None else []
        if head is not None and heads:
            out.append((heads, [line[head.end(1) :]]))
        elif line.strip():
            out[-1][1].append(line)
        else:
            out.append(([], []))
    return [(name, " ".join(lines)) for heads, lines in out for name in heads]


def _apply(param: Param, said: str, where: str, known: dict[str, Size]) -> None:
    if param.kind not in (None, "tensor", "tensors"):
        return
    for group in _GROUP.finditer(said):
        tokens = re.split(r"\s*[,x×]\s*", group[1])
        clear = len(tokens) > 1 or "," in group[0] or said.strip() == group[0] or re.search(r"shape|size", said, re.IGNORECASE)
        if clear and _NO_DIMS.isdisjoint(map(str.lower, tokens)) and any(t[:1].isalpha() or t.isdecimal() for t in tokens):
            param.is_a("tensor", where)
            _name_dims(param, tokens, where, known)
            break
    dtype = _SAID_DTYPE.search(said)
    if dtype is not None and param.kind == "tensor":
        name = dtype[1].lower()
        param.tensor.dtype.set(_DTYPES.get(name, name), where)


def _name_dims(param: Param, dims: Sequence[str], where: str, known: dict[str, Size]) -> None:
    """The names of a tensor's dimensions, as they are said there; the first may be three dots."""
    shape = param.tensor.shape
    open_ended = dims[0] in ("...", "*")
    if not open_ended and not shape.set_rank(len(dims)):
        return
    param.tensor.why = param.tensor.why or f"its shape is as {where} says"
    for at, name in enumerate(dims, -len(dims) if open_ended else 0):
        if name.isdecimal():
            shape.dim(at).merge(Size(value=int(name)))
        elif name in known:
            known[name].merge(shape.dim(at))
        elif name.isidentifier():
            known[name] = shape.dim(at)
            known[name].call(name)

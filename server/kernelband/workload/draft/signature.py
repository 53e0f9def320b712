"""A function's parameters, as far as its head, its docstring and the comments beside them say what they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from attrs import frozen

from kernelband.workload.draft.code import Definition, Function
from kernelband.workload.draft.values import Kind, Param, Size, Tensor

_NAMED_DIMS = re.compile(r"""^(\w+)\[.*Tensor\s*,\s*["']([^"']+)["']\s*\]""")  # Float[Tensor, "batch dim"]
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
PLAIN: tuple[Kind, ...] = ("bool", "int", "float", "str", "dtype", "device")
BY_TYPE: dict[type, Kind] = {bool: "bool", int: "int", float: "float", str: "str"}
DOCSTRING, COMMENT = "the docstring", "a comment"


@frozen
class Said:
    """The names of a tensor's dimensions as ``where`` has them; the first may be three dots."""

    dims: tuple[str, ...]
    where: str


def parameters(function: Function, *, bound: bool) -> list[Param]:
    """Those that a caller gives; ``bound``: the first one is self, cls or ctx."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    pairs = list(zip(positional, defaults, strict=True))[1 if bound else 0 :]
    known: dict[str, Size] = {}
    out = [_parameter(a, d, known, keyword_only=False) for a, d in pairs]
    return out + [_parameter(a, d, known, keyword_only=True) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]


def _parameter(arg: ast.arg, default: ast.expr | None, known: dict[str, Size], *, keyword_only: bool) -> Param:
    param = Param(arg.arg, ast.unparse(arg.annotation) if arg.annotation is not None else "", default, keyword_only)
    param.tensor = Tensor(arg.arg)
    param.size = Size(names=[arg.arg])
    _annotated(param, known)
    value = default.value if isinstance(default, ast.Constant) else None
    if type(value) in BY_TYPE:
        param.is_a(BY_TYPE[type(value)], "its default")
    return param


def _annotated(param: Param, known: dict[str, Size]) -> None:
    said = param.annotation.strip("\"'")
    words = set(re.findall(r"\w+", said))
    param.optional = "Optional" in words or "None" in words
    why = "its annotation"
    named = _NAMED_DIMS.match(said)
    if named is not None:
        param.is_a("tensor", why)
        _name_dims(param, Said(tuple(named[2].split()), why), known)
        if named[1] in ("Int", "Int64", "Long", "Int32"):
            param.tensor.dtype.set("int32" if named[1] == "Int32" else "int64", why)
        elif named[1] == "Bool":
            param.tensor.boolean = True
    elif any(w.endswith("Tensor") for w in words):
        many = re.match(r"(?:typing\.)?(?:List|list|Sequence|Iterable|Tuple|tuple)\[", said)
        param.is_a("tensors" if many else "tensor", why)
        if "LongTensor" in words or "IntTensor" in words:
            param.tensor.dtype.set("int64" if "LongTensor" in words else "int32", why)
    elif re.match(r"(?:typing\.)?(?:List|list|Sequence|Tuple|tuple)\[\s*int\b", said):
        param.is_a("ints", why)
    elif "Literal" in words:
        param.choices = tuple(int(s) if s.isdecimal() else s.strip("'") for s in re.findall(r"'[^']*'|\b\d+\b", said))
        param.is_a("str" if param.choices and isinstance(param.choices[0], str) else "int", why)
    else:
        for kind in PLAIN:
            if kind in words and not words & {"List", "list", "Tuple", "tuple", "Callable"}:
                param.is_a(kind, why)
                return


# ------------------------------------------------------------ what is written beside them


def apply_words(definition: Definition, text: str, params: Sequence[Param], names: dict[str, Size]) -> None:
    """Shapes and dtypes from the docstring and from comments, where the code says nothing else.

    Args:
        definition: the function.
        text: of its file.
        params: its parameters.
        names: sizes that the body has names for; a dimension of that name is that size.
    """
    function = definition.function
    if function is None:
        return
    by_name = {p.name: p for p in params}
    known = dict(names)
    lines = text.splitlines()
    alone = _alone(function)
    for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        line = lines[arg.lineno - 1] if arg.lineno <= len(lines) else ""
        above = lines[arg.lineno - 2].strip() if arg.lineno > 1 else ""
        said = line.partition("#")[2] or (above.removeprefix("#") if above.startswith("#") else "")
        if arg.arg in by_name and alone.get(arg.lineno) == 1 and said:
            _apply(by_name[arg.arg], said, COMMENT, known)
    doc = ast.get_docstring(function) or ""
    for name, part in _parts(doc, by_name):
        _apply(by_name[name], part, DOCSTRING, known)


def _alone(function: Function) -> dict[int, int]:
    found: dict[int, int] = {}
    for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        found[arg.lineno] = found.get(arg.lineno, 0) + 1
    return found


def _parts(doc: str, names: dict[str, Param]) -> list[tuple[str, str]]:
    """What a docstring says of each parameter: from its name on to the next one's."""
    out: list[tuple[list[str], list[str]]] = []
    for line in doc.splitlines():
        head = _HEAD.match(line)
        heads = [n for n in re.split(r"\s*(?:,|\band\b)\s*", head[1]) if n in names] if head is not None else []
        if head is not None and heads:
            out.append((heads, [line[head.end(1) :]]))
        elif out and line.strip():
            out[-1][1].append(line)
        elif out and not line.strip():
            out.append(([], []))
    return [(name, " ".join(lines)) for heads, lines in out for name in heads]


def _apply(param: Param, said: str, where: str, known: dict[str, Size]) -> None:
    if param.kind not in (None, "tensor", "tensors"):
        return
    for group in _GROUP.finditer(said):
        tokens = re.split(r"\s*[,x×]\s*", group[1])
        clear = "," in group[0] or said.strip() == group[0] or re.search(r"shape|size", said, re.IGNORECASE)
        single = len(tokens) == 1 and not clear
        if any(t.lower() in _NO_DIMS for t in tokens) or single or not any(t[:1].isalpha() or t.isdecimal() for t in tokens):
            continue
        param.is_a("tensor", where)
        _name_dims(param, Said(tuple(tokens), where), known)
        break
    dtype = _SAID_DTYPE.search(said)
    if dtype is not None and param.kind == "tensor":
        name = dtype[1].lower()
        param.tensor.dtype.set(_DTYPES.get(name, name), where)


def _name_dims(param: Param, said: Said, known: dict[str, Size]) -> None:
    shape, dims = param.tensor.shape, said.dims
    open_ended = dims[0] in ("...", "*")
    if not open_ended and not shape.set_rank(len(dims)):
        return
    param.tensor.why = param.tensor.why or f"its shape is as {said.where} says"
    for at, name in enumerate(dims):
        place = at - len(dims) if open_ended else at
        if name in ("...", "*"):
            continue
        size = shape.dim(place)
        if name.isdecimal():
            size.merge(Size(value=int(name), exact=True))
        elif name in known:
            known[name].merge(size)
        elif name.isidentifier():
            known[name] = size
            if name not in size.root.names:
                size.root.names.append(name)

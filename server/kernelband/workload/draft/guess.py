"""What the program doesn't say: a kind, a number or a dtype that may be meant, by names and by what the kernel does."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kernelband.workload.draft import names
from kernelband.workload.draft.sizes import Sizes
from kernelband.workload.draft.values import GUESSED, Param

UNKNOWN = "1"
QUIET = ("return_", "inplace", "in_place", "debug", "verbose", "transpose", "interleaved", "output_")


@frozen
class Guess:
    """What the program doesn't say: ``value`` stands in the draft under ``name``, because of ``why``."""

    name: str
    value: str
    why: str


def decide(param: Param) -> None:
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


def value_of(param: Param, sizes: Sizes) -> tuple[str, str]:
    """A number, word or the like, as it is written, and why."""
    said = names.number_of_name(param.name)
    by_name = "by its name"
    root = param.size.root
    if param.kind == "bool":
        return ("False" if param.name.lower().startswith(QUIET) else "True"), "either may be meant"
    if param.kind == "str":
        words = [c for c in param.choices if isinstance(c, str) and c] or [c for c in param.choices if isinstance(c, str)]
        return (f'"{words[0]}"', f"one of {', '.join(map(repr, dict.fromkeys(param.choices)))}") if words else (said or '""', by_name)
    if param.kind == "ints":
        count = root.value or 2
        return f"[{', '.join(['128'] * count)}]", "nothing says which"
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


def shared_dtype(params: Sequence[Param]) -> tuple[str, str]:
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

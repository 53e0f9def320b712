"""What the program doesn't say: a kind, a number or a dtype that may be meant, by names and by what the kernel does."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kernelband.workload.draft import names
from kernelband.workload.draft.sizes import Sizes
from kernelband.workload.draft.values import GUESSED, Kind, Param, tensor_of

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


def decide(param: Param) -> None:
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
    elif len(root.names) > 1 or root.exact:
        param.is_a("int", "it is a size")
    elif number is not None:
        return
    elif names.sounds_like("flag", name) and not names.sounds_like("vector", name):
        param.is_a("bool", f"{GUESSED}: by its name")
    elif names.sounds_like("places", name) or names.sounds_like("vector", name):
        param.is_a("tensor", f"{GUESSED}: that it is a tensor")
    elif names.size_of_name([name]) is not None:
        param.is_a("int", f"{GUESSED}: by its name")


def value_of(param: Param, sizes: Sizes) -> tuple[str, str]:
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
            bounded = root.allowed or root.least is not None or root.most is not None or root.divides or root.multiple > 1
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


def shared_dtype(params: Sequence[Param]) -> tuple[str, str]:
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

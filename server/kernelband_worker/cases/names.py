"""Names for the tensors that an argument or a result reaches: "x", "args[0]", "self.weight", "return[1]"."""

from __future__ import annotations

import inspect
import math
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, cast

import torch

from kernelband_worker.cases.context import context_outputs, is_context

_DEPTH = 6


def walk(value: Any, name: str, seen: Optional[Set[int]] = None, depth: int = _DEPTH) -> Iterator[Tuple[str, torch.Tensor]]:
    """The tensors in containers and attributes of ``value``, each object once, with a name that a person would write."""
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor):
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value
        return
    if depth == 0 or value is None or isinstance(value, (bool, int, float, complex, str, bytes, type)) or id(value) in seen:
        return
    seen.add(id(value))
    for child_name, child in _children(value, name):
        yield from walk(child, child_name, seen, depth - 1)


def _children(value: Any, name: str) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield f"{name}[{key!r}]", child
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for field in cast("Any", value)._fields:
            yield f"{name}.{field}", getattr(value, field)
    elif isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            yield f"{name}[{index}]", child
    elif isinstance(value, torch.nn.Module):
        for group in (value._parameters, value._buffers, value._modules):
            for key, child in group.items():
                yield f"{name}.{key}", child
        for key, child in vars(value).items():
            if not key.startswith("_"):
                yield f"{name}.{key}", child
    elif is_context(value):
        for index, child in enumerate(getattr(value, "saved_tensors", ()) if not getattr(value, "to_save", None) else ()):
            yield f"{name}.saved_tensors[{index}]", child
        yield from ((n.replace("ctx", name, 1), v) for n, v in context_outputs(value))
    elif hasattr(value, "__dict__") and not callable(value) and not inspect.ismodule(value):
        for key, child in vars(value).items():
            yield f"{name}.{key}", child


def bind(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[Tuple[str, Any]]:
    """The arguments by parameter name, ``*args`` as ``args[0]`` and so on."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):  # a call that will fail by itself, or a function without a signature
        return [(f"args[{i}]", a) for i, a in enumerate(args)] + list(kwargs.items())
    named: List[Tuple[str, Any]] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            named += [(f"{name}[{i}]", v) for i, v in enumerate(value)]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            named += list(value.items())
        else:
            named.append((name, value))
    return named


def tensors_of(named: List[Tuple[str, Any]]) -> List[Tuple[str, torch.Tensor]]:
    """Every tensor of named values, each object once."""
    seen: Set[int] = set()
    return [found for name, value in named for found in walk(value, name, seen)]


def plain(value: Any) -> bool:
    """Whether a value is a constant that JSON and a person can read."""
    return value is None or isinstance(value, (bool, int, float, str))


def constant(value: Any) -> Any:
    """A constant as JSON: numbers and strings as they are, dtypes and devices as text, the rest by type."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if plain(value):
        return value
    if isinstance(value, (torch.dtype, torch.device, torch.Size)):
        return str(value)
    if isinstance(value, (list, tuple)) and all(plain(v) for v in value):
        return [constant(v) for v in value]
    return f"<{type(value).__name__}>"


def leaves(value: Any, name: str = "return") -> List[Tuple[str, Any]]:
    """The constants in a result: numbers, strings, None, and the kinds of its containers."""
    if isinstance(value, torch.Tensor):
        return []
    if plain(value):
        return [(name, value)]
    if isinstance(value, (dict, list, tuple)):
        found: List[Tuple[str, Any]] = [(name, f"{type(value).__name__} of {len(value)}")]
        for child_name, child in _children(value, name):
            found += leaves(child, child_name)
        return found
    return []

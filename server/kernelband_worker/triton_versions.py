"""What differs between Triton 3.2 and 3.9 around a launch, in one place.

Everything here is found by what is there, not by version number: nightlies carry odd ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, cast

import torch
import triton
from triton.runtime import jit
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

#: Options that name places on this machine, not properties of the code.
_OF_MACHINE = ("extern_libs",)
#: Modules that ask for Triton's part of a cache key by its name in them: before 3.5 the second.
_KEYED = ("triton.runtime.cache", "triton.compiler.compiler")


@dataclass
class Specialization:
    """What Triton compiles for one set of arguments.

    ``constants`` and ``attributes`` are keyed by Triton's own path of an argument (a tuple of positions from 3.3 on), values as Triton
    holds them; ``data`` is Triton's JSON for ``JITFunction.preload``, None where a constant has no JSON form.
    """

    signature: Dict[str, Any] = field(default_factory=dict)
    constants: Dict[Any, Any] = field(default_factory=dict)
    attributes: Any = None
    options: Dict[str, Any] = field(default_factory=dict)
    data: Optional[str] = None

    def key(self, kernel: JITFunction[Any]) -> str:
        """Equal for launches that compile to the same code on one target: from the kernel's own cache key (source, helpers, captured
        constants), signature, constants, attributes and options.
        """
        attributes = self.attributes.to_dict() if hasattr(self.attributes, "to_dict") else self.attributes
        parts = (
            kernel.cache_key,
            sorted((name, repr(kind)) for name, kind in self.signature.items()),
            sorted((repr(path), _constant(value)) for path, value in self.constants.items()),
            sorted((repr(path), repr(value)) for path, value in (attributes or {}).items()),
            sorted((name, repr(value)) for name, value in self.options.items() if name not in _OF_MACHINE),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(value: Any) -> str:
    if isinstance(value, JITFunction):
        return value.cache_key
    if isinstance(value, (tuple, list)):
        return repr([_constant(item) for item in value])
    return repr(getattr(value, "value", value))


def learn(kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any], run: Callable[..., Any]) -> Specialization:
    """How Triton specialises a launch, from Triton itself: its own launch path, stopped by its own hook before it compiles.

    Args:
        kernel: what is launched.
        args: positional arguments of the launch.
        kwargs: its keyword arguments, options among them.
        run: the unpatched ``JITFunction.run``.
    """
    learnt = Specialization()

    def hook(**told: Any) -> bool:
        compiling = told["compile"]
        learnt.signature = dict(compiling["signature"])
        learnt.constants = dict(compiling["constants"])
        learnt.attributes = compiling["configs"][0]
        learnt.data = compiling.get("specialization_data")
        return True

    original = jit.serialize_specialization_data

    def serialize(name: str, signature: Any, constants: Any, attributes: Any, options: Any, *rest: Any) -> Optional[str]:
        learnt.options = dict(options.__dict__)
        try:
            return original(name, signature, constants, attributes, options, *rest)
        except TypeError:  # a jit function as a constant, before 3.9
            return None

    caches = "device_caches" if hasattr(kernel, "device_caches") else "cache"
    held, hooks = getattr(kernel, caches), kernel.pre_run_hooks
    jit.serialize_specialization_data = serialize
    # Caches of its own, or the hook would be asked about a kernel's first launch only.
    setattr(kernel, caches, type(held)(held.default_factory))
    kernel.pre_run_hooks = []
    try:
        with _cache_hook(hook):
            run(kernel, *args, grid=(1, 1, 1), warmup=False, **kwargs)
    finally:
        jit.serialize_specialization_data = original
        setattr(kernel, caches, held)
        kernel.pre_run_hooks = hooks
    return learnt


@contextlib.contextmanager
def _cache_hook(hook: Callable[..., bool]) -> Iterator[None]:
    knobs = getattr(triton, "knobs", None)
    holder, name = (JITFunction, "cache_hook") if knobs is None else (knobs.runtime, "jit_cache_hook")
    before = getattr(holder, name)
    setattr(holder, name, hook)
    try:
        yield
    finally:
        setattr(holder, name, before)


def compiling_mode() -> Optional[ContextVar[Any]]:
    """Where a launch looks for somebody to leave its compilation to; None before 3.5, where nobody can take it."""
    try:
        return importlib.import_module("triton.runtime._async_compile").active_mode
    except (ImportError, AttributeError):
        return None


def current_driver() -> Any:
    """The driver that was made active, without making Triton look for a GPU; None when none was."""
    active = cast("Any", vars(driver).get("_active", vars(driver).get("active")))
    if type(active).__name__ == "LazyProxy":  # before 3.5: stands there until somebody asks
        return active._obj
    return active


def know_installation_by_its_library() -> None:
    """Let Triton's cache key name its library's place, size and time in place of a hash of all its files, which takes each process 0.9 s.

    For a cache of one run, during which nobody installs another Triton.
    """
    library = importlib.import_module("triton._C.libtriton").__file__ or ""
    facts = os.stat(library)
    known = f"{triton.__version__}-{library}-{facts.st_size}-{facts.st_mtime_ns}"
    for name in _KEYED:
        module: Any = importlib.import_module(name)
        if hasattr(module, "triton_key"):
            module.triton_key = lambda: known


class Pointer(jit.MockTensor):
    """A tensor of which only its type and its place in memory are left: what Triton specialises by."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor.dtype)
        self._at = int(tensor.data_ptr())

    def data_ptr(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - static there
        return self._at


def pointer(argument: Any) -> Any:
    """An argument of a launch that can be kept, and compiled for, when its tensor is gone."""
    return Pointer(argument) if isinstance(argument, torch.Tensor) else argument


def bind(kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """Arguments by parameter name, defaults applied. Options (num_warps ...) among ``kwargs`` are left out."""
    parameters = kernel.signature.parameters
    bound = kernel.signature.bind(*args, **{name: value for name, value in kwargs.items() if name in parameters})
    bound.apply_defaults()
    return dict(bound.arguments)


def bind_compiled(compiled: Any, args: Tuple[Any, ...]) -> Optional[Tuple[JITFunction[Any], Dict[str, Any], Dict[str, Any]]]:
    """What ``CompiledKernel[grid](*args)`` launches: the kernel, its arguments by name, and the options it was compiled with.

    None where it comes from no kernel but from a file of IR. Constants are passed from 3.3 on and left out before.
    """
    kernel = getattr(compiled.src, "fn", None)
    if not isinstance(kernel, JITFunction):
        return None
    names: List[str] = list(kernel.arg_names)
    constants = {_first_name(path, names): value for path, value in dict(compiled.src.constants).items()}
    passed = names if len(args) >= len(names) else [name for name in names if name not in constants]
    arguments = {**constants, **dict(zip(passed, args))}
    options = {}
    for name in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
        value = getattr(compiled.metadata, name, None)
        if value is not None:
            options[name] = value
    return kernel, {name: arguments[name] for name in names if name in arguments}, options


def _first_name(path: Any, names: List[str]) -> str:
    if isinstance(path, str):
        return path
    position = path[0] if isinstance(path, tuple) else path
    return names[position]


def canonical_grid(grid: Any, arguments: Dict[str, Any]) -> Tuple[int, int, int]:
    """Three numbers, from a tuple, a list, or a function of the arguments."""
    sizes = grid(arguments) if callable(grid) else grid
    listed: List[Any] = list(sizes) if isinstance(sizes, (tuple, list)) else [sizes]
    first, second, third = (*(int(size) for size in listed), 1, 1)[:3]
    return first, second, third

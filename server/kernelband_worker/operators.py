"""A variant's operators, beside the original's: what a sibling registers with torch while it is loaded gets a namespace of its own.

torch knows one operator of a name in a process: to define it again is an error, and a second ``custom_op`` takes the place of the first,
so that the original would run the variant's kernel from then on. What a variant registers for an operator that it doesn't define itself,
one of torch's own for instance, is left out for the same reason. ``torch.ops.namespace.name`` remains the original's operator.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

from kernelband_worker.sources import DIGITS

#: Functions of ``torch.library`` that are told an operator's name first.
_NAMED = ("impl", "register_kernel", "register_fake", "register_autograd", "register_autocast", "register_vmap", "register_torch_dispatch")


class Operators:
    """Those of one variant."""

    def __init__(self, variant: str) -> None:
        self._suffix = f"__kb_{variant[:DIGITS]}"
        self._own: Set[str] = set()  # ``namespace::name`` as the program writes it
        self._libraries: Dict[str, Any] = {}  # by the program's namespace; what they registered goes when they do
        self._before: List[Tuple[Any, str, Any]] = []

    @property
    def held(self) -> bool:
        """Whether what is registered now is the variant's."""
        return bool(self._before)

    @contextlib.contextmanager
    def registering(self) -> Iterator[None]:
        """What is registered in the block is the variant's."""
        if self.held:  # a sibling imports another one
            yield
            return
        self._put()
        try:
            yield
        finally:
            self._put_back()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """What is registered in the block, perhaps within one of ``registering``, is not: modules are loaded that are no siblings."""
        held = self.held
        self._put_back()
        try:
            yield
        finally:
            if held:
                self._put()

    def _put(self) -> None:
        import torch
        from torch._library.custom_ops import CustomOpDef

        library = torch.library.Library
        made = [
            (library, "__init__", self._opening(library.__init__)),
            (library, "define", self._defining(library.define)),
            (library, "impl", self._by_library(library.impl)),
            (library, "_register_fake", self._by_library(library._register_fake)),
            (CustomOpDef, "__init__", self._making(CustomOpDef.__init__)),
            *((torch.library, name, self._by_name(getattr(torch.library, name))) for name in _NAMED if hasattr(torch.library, name)),
        ]
        for owner, name, stand_in in made:
            self._before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, stand_in)

    def _put_back(self) -> None:
        while self._before:
            setattr(*self._before.pop())

    # ------------------------------------------------------------ in place of torch's

    def _opening(self, original: Callable[..., None]) -> Callable[..., None]:
        def init(library: Any, ns: str, kind: str, dispatch_key: str = "") -> None:
            original(library, ns, "FRAGMENT" if kind == "DEF" else kind, dispatch_key)  # a namespace is defined once

        return init

    def _defining(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def define(library: Any, schema: str, *options: Any, **more: Any) -> Any:
            self._own.add(f"{library.ns}::{_plain(schema)}")
            return original(self._library(library), schema, *options, **more)

        return define

    def _by_library(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Of a method that takes an operator's name, with or without its namespace, or torch's object."""

        def register(library: Any, operator: Any, *options: Any, **more: Any) -> Any:
            name = operator if isinstance(operator, str) else operator._name
            name = name.rpartition("::")[2]
            if not self._is_ours(library.ns) and f"{library.ns}::{_plain(name)}" not in self._own:
                return None
            return original(self._library(library), name, *options, **more)

        return register

    def _by_name(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Of a function that takes an operator's full name, torch's object, or what ``custom_op`` made."""

        def register(operator: Any, *options: Any, **more: Any) -> Any:
            name = operator if isinstance(operator, str) else getattr(operator, "_name", None)
            if name is None or not isinstance(name, str) or "::" not in name:  # the variant's own object
                return original(operator, *options, **more)
            ns, _, rest = name.partition("::")
            if f"{ns}::{_plain(rest)}" not in self._own:
                return lambda function: function  # most are decorators
            return original(f"{ns}{self._suffix}::{rest}", *options, **more)

        return register

    def _making(self, original: Callable[..., None]) -> Callable[..., None]:
        def init(made: Any, namespace: str, name: str, *options: Any, **more: Any) -> None:
            self._own.add(f"{namespace}::{name}")
            original(made, namespace + self._suffix, name, *options, **more)

        return init

    # ------------------------------------------------------------ names

    def _is_ours(self, ns: str) -> bool:
        return ns.endswith(self._suffix)

    def _library(self, library: Any) -> Any:
        """That of the variant for the library's namespace."""
        if self._is_ours(library.ns):
            return library
        if library.ns not in self._libraries:
            self._libraries[library.ns] = type(library)(library.ns + self._suffix, "FRAGMENT", library.dispatch_key)
        return self._libraries[library.ns]


def _plain(name: str) -> str:
    """An operator's name without its overload and its schema."""
    return name.partition("(")[0].partition(".")[0]

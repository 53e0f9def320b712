"""Types of interpreted values, spelled once: nearly a third of what interpreting a program costs was making them anew for each value.

Triton makes a ``block_type`` with its name, and a tensor's shape of constants, wherever a value comes into being. Both hang on the type of
the elements and on the sizes alone, and nothing changes them.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import triton.language as tl

Initialize = Callable[..., None]
_MADE = "_made"  # on a block type: what is remembered of it


class _Made:
    """Attributes of the block types of one kind, and of their tensors once there was one."""

    def __init__(self, block: Dict[str, Any]) -> None:
        self.block = block
        self.tensor: Optional[Dict[str, Any]] = None


def remembering(make_block: Initialize, make_tensor: Initialize) -> Tuple[Initialize, Initialize]:
    """``block_type.__init__`` and ``tensor.__init__`` that give what those give, from memory where it was made before."""
    every: Dict[Tuple[Any, ...], _Made] = {}

    def block(self: Any, element_ty: Any, shape: Any) -> None:
        sizes = tuple([getattr(size, "value", size) for size in shape])
        if not (isinstance(element_ty, tl.dtype) and all(type(size) is int for size in sizes)):  # Triton's to refuse, or to unwrap
            make_block(self, element_ty, shape)
            return
        key = (element_ty.name, getattr(element_ty, "address_space", None), getattr(element_ty, "const", None), sizes)
        known = every.get(key)
        if known is None:
            make_block(self, element_ty, shape)
            known = every[key] = _Made({name: value for name, value in vars(self).items() if name != "element_ty"})
        vars(self).update(known.block, element_ty=element_ty, **{_MADE: known})

    def tensor(self: Any, handle: Any, type: Any) -> None:  # noqa: A002 - Triton's name
        known: Optional[_Made] = vars(type).get(_MADE)
        if known is None or known.tensor is None:
            make_tensor(self, handle, type)
            if known is not None:
                known.tensor = {name: value for name, value in vars(self).items() if name not in ("handle", "type", "dtype")}
        else:
            vars(self).update(known.tensor, handle=handle, type=type, dtype=type.scalar)

    return block, tensor


def by_name(numpy_type: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The interpreter's ``_get_np_dtype``, which makes a table of all types for each that it is asked for."""
    known: Dict[Tuple[type, str], Any] = {}

    def of(element: Any) -> Any:
        key = (type(element), element.name)
        if key not in known:
            known[key] = numpy_type(element)
        return known[key]

    return of

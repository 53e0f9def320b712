"""A stand-in for the ``ctx`` of torch.autograd.Function, so that forward and backward can be called on their own."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import torch


class StandIn:
    """Offers what a user's forward or backward does with ``ctx``; keeps what it was given.

    ``to_save`` holds what forward saved (the real ctx keeps it under the same name); ``saved_tensors`` what backward reads.
    """

    def __init__(self) -> None:
        self.to_save: Tuple[Any, ...] = ()
        self.saved_tensors: Tuple[Any, ...] = ()
        self.needs_input_grad: Tuple[bool, ...] = ()
        self.dirty_tensors: Tuple[Any, ...] = ()
        self.non_differentiable: Tuple[Any, ...] = ()

    @property
    def saved_variables(self) -> Tuple[Any, ...]:
        return self.saved_tensors

    def save_for_backward(self, *tensors: Any) -> None:
        self.to_save = self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    @staticmethod
    def reduce(ctx: Any) -> Any:
        """How a pickler writes a real ctx: as a StandIn with the same attributes."""
        attributes: Dict[str, Any] = {k: v for k, v in vars(ctx).items() if k not in ("metadata",)}
        attributes["needs_input_grad"] = tuple(ctx.needs_input_grad)
        attributes["saved_tensors"] = _saved(ctx)
        return StandIn, (), attributes


def _saved(ctx: Any) -> Tuple[Any, ...]:
    # In forward nothing is saved yet, and asking is an error.
    if getattr(ctx, "to_save", None) is not None:
        return ()
    try:
        return tuple(ctx.saved_tensors)
    except RuntimeError:
        return ()


def is_context(value: Any) -> bool:
    """Whether ``value`` is an autograd ctx or our stand-in for one."""
    return isinstance(value, (StandIn, torch._C._FunctionBase))


_OWN = ("to_save", "saved_tensors", "needs_input_grad", "dirty_tensors", "non_differentiable", "materialize_grads", "saved_for_forward")


def context_outputs(ctx: Any) -> List[Tuple[str, Any]]:
    """What a forward left in its ctx: the saved tensors, and tensors kept as attributes."""
    found: List[Tuple[str, Any]] = [(f"ctx.saved_tensors[{i}]", t) for i, t in enumerate(getattr(ctx, "to_save", None) or ())]
    found += [(f"ctx.{name}", value) for name, value in sorted(vars(ctx).items()) if name not in _OWN]
    return found

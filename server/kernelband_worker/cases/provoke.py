"""Whether a call writes arguments that hold what it writes already: it is called again, on copies that hold something else.

A buffer that has the result from before, positive numbers that go through a ReLU in place: the bytes before and after the call are the
same, and that says nothing. Other floats come first, then the integers of one tensor after the other, then other numbers for arguments
that are no tensors. Integers all become the least of them: an index, a start or a length that is as small as another one leads nowhere new.
Where all are the same (locks, counters) they stay.
"""

from __future__ import annotations

import importlib
import inspect
import time
import types
from contextlib import nullcontext
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from kernelband_worker.cases import arguments, effects, modes, policy
from kernelband_worker.cases.recording import Snapshot
from kernelband_worker.cases.stressed import other_numbers
from kernelband_worker.cases.tensors import same_bytes

_SEEN_AS = {torch.complex64: torch.float32, torch.complex128: torch.float64, torch.bool: torch.uint8}
_MOST_INTEGERS = 4  # tensors
_WHOLE = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
NOTHING = "it returns no tensor and changes none of its arguments{but}, so there is nothing to compare"
NO_TIME = NOTHING.format(but=" as they were recorded, and there was no time to try it with other values")


def provoke(before: Snapshot, original: Optional[Callable[..., Any]], *, gpu: bool, deadline: float) -> Tuple[List[int], str]:
    """The numbers of the storages that a call writes once they hold something else, and where there are none what can be said of it.

    For a call that has left its storages as they were. ``before.copies`` hold anything afterwards; generators are as they were. Mostly that
    takes one call.

    Args:
        before: the call.
        original: the host function, None for a bare launch.
        gpu: whether storages lie on one.
        deadline: of ``time.monotonic``, after which nothing is tried any more.
    """
    generators = modes.generator_states(gpu)
    ways = [(None, False), *((number, False) for number in _integers(before)[:_MOST_INTEGERS])]
    ways += [(None, True)] if _has_numbers(before, original) else []
    tried, refused, why = False, False, ""
    try:
        for integers, numbers in ways:
            for signed in (False,) if refused else (True, False):
                if not _fill(before, signed=signed, integers=integers) and not numbers:
                    break
                if time.monotonic() > deadline:
                    return [], NO_TIME
                try:
                    written = _written(before, original, numbers=numbers)
                except Exception as error:  # noqa: BLE001 - the user's function may raise anything
                    refused, why = True, why or f"{type(error).__name__}: {error}".splitlines()[0][:200]
                    continue
                if written:
                    return written, ""
                tried = True
                break
    finally:
        modes.restore_generators(generators, gpu)
    if tried:
        return [], NOTHING.format(but="")
    known = f"with other values it fails ({why})" if why else "there are no other values to try"
    return [], NOTHING.format(but=f" as they were recorded, and {known}")


def _integers(before: Snapshot) -> List[int]:
    """The storages that hold integers or booleans that aren't all the same."""
    assert before.storages is not None
    found: List[int] = []
    for number, view in enumerate(before.storages.views):
        values = _values(before, number, view)
        if values is not None and values.dtype in _WHOLE and not bool((values == values.min()).all()):
            found.append(number)
    return found


def _has_numbers(before: Snapshot, original: Optional[Callable[..., Any]]) -> bool:
    """Whether an argument, given or by default, is a number with a fraction."""
    defaults = [p.default for p in inspect.signature(original).parameters.values()] if original is not None else []
    return any(type(value) is float for value in (*before.constants.values(), *defaults))


def _values(before: Snapshot, number: int, storage: torch.Tensor) -> Optional[torch.Tensor]:
    """What a storage holds, with real numbers for complex ones and bytes for booleans; None where its tensors differ in that."""
    dtypes = {getattr(torch, f["dtype"]) for f in before.facts if f["storage"] == number}
    if len(dtypes) != 1 or not storage.numel():
        return None
    dtype: torch.dtype = dtypes.pop()
    dtype = _SEEN_AS.get(dtype, dtype)
    return storage[: storage.numel() // dtype.itemsize * dtype.itemsize].view(dtype)


def _fill(before: Snapshot, *, signed: bool, integers: Optional[int]) -> bool:
    """Fill the copies with other values; whether there are any.

    Args:
        before: the call.
        signed: floats are drawn around zero, else within the range that they have.
        integers: the storage whose integers become the least of them.
    """
    assert before.storages is not None
    other = False
    for number, (copy, view) in enumerate(zip(before.copies, before.storages.views)):
        copy.copy_(view)
        values = _values(before, number, copy)
        if values is None:
            continue
        if number == integers:
            values.fill_(int(values.min()))
            other = True
        elif values.dtype.is_floating_point:
            how = _around_zero(values) if signed else policy.fit(values)
            if how is not None:
                copy.copy_(policy.draw(how, copy.numel(), policy.seed_of(0, "provoked", 0, number), copy.device))
                other = True
    return other


def _around_zero(values: torch.Tensor) -> Dict[str, Any]:
    """A distribution as ``policy.fit`` describes one."""
    size = effects.rms(values) or 1.0
    dtype = str(values.dtype).rpartition(".")[2]
    return {"kind": "normal", "low": -4 * size, "high": 4 * size, "mean": 0.0, "spread": size, "zeros": 0.0, "dtype": dtype}


def _written(before: Snapshot, original: Optional[Callable[..., Any]], *, numbers: bool) -> List[int]:
    """Call it on the copies; which of them it changes. What it raises is raised."""
    assert before.pickled is not None
    sent = [copy.clone() for copy in before.copies]
    tree, _ = arguments.load(before.pickled, before.copies, importlib.import_module)
    function, args, kwargs = _function(tree, original), tuple(tree["args"]), dict(tree["kwargs"])
    if numbers:
        args, kwargs = other_numbers(function, args, kwargs)
    enter = modes.entering(before.modes)
    with nullcontext() if enter is None else enter():
        function(*args, **kwargs)
    return [number for number, (copy, was) in enumerate(zip(before.copies, sent)) if not same_bytes(copy, was)]


def _function(tree: Dict[str, Any], original: Optional[Callable[..., Any]]) -> Callable[..., Any]:
    """What is called: a launch, the host function, or a nested one with the cells of the tree instead of those that are in use."""
    if original is None:
        return tree["kernel"][tree["grid"]]
    if "cells" not in tree:
        return original
    code = original.__code__
    cells = tuple(types.CellType(tree["cells"][name]) if name in tree["cells"] else types.CellType() for name in code.co_freevars)
    made = types.FunctionType(code, original.__globals__, code.co_name, tree["defaults"], cells)
    made.__kwdefaults__ = tree["kwdefaults"]
    return made

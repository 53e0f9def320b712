"""A replayed case as the two sides of a comparison, with what it takes to repeat a call."""

from __future__ import annotations

import traceback
from typing import Any, Callable, Dict, Optional

import torch

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.device import Side
from kernelband_worker.wire import Case

_PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size, torch.Tensor)
_TRACE_LINES = 30


def sides(replay: Any, prepared: Any, variant: Optional[str]) -> Dict[str, Side]:
    """A, the original, and B, the variant, over the same storages. Bindings of earlier variants are dropped: each costs time to restore."""
    for other in [key for key in prepared.bound if key not in (None, variant)]:
        del prepared.bound[other]
    for which in {None, variant}:
        if which not in prepared.bound:
            replay.bind(which, prepared)
    restore = _restore(replay, prepared)

    def side(which: Optional[str]) -> Side:
        return Side(lambda: replay.call(which, prepared), restore)

    return {"A": side(None), "B": side(variant)}


def _restore(replay: Any, prepared: Any) -> Callable[[], None]:
    """The least that makes the next call like the first: nothing, the written storages, or everything when objects are passed.

    Building the argument trees anew takes longer than many a call, and only objects such as ``self`` or ``ctx`` need it.
    """
    if not all(plain(b.args) and plain(tuple(b.kwargs.values())) for b in prepared.bound.values()) or prepared.rng:
        return lambda: replay.restore(prepared)
    written = [(prepared.storages[number], content) for number, content in prepared.pristine.items()]

    def put_back() -> None:
        for storage, content in written:
            storage.copy_(content)

    return put_back


def plain(value: Any) -> bool:
    """A call can't change it, or changes only what its storage holds."""
    if type(value) is tuple:
        return all(plain(v) for v in value)
    return isinstance(value, _PLAIN)


def repeatable(case: Case) -> bool:
    """Calls may follow each other without a restore: nothing is mutated but floats.

    A counter or an index table that two calls advance can send the second one out of bounds; float data only drifts.
    """
    return all(not t["mutated"] or t["dtype"].startswith(("float", "bfloat", "complex")) for t in case["tensors"])


def of_the_program(error: BaseException, who: str) -> Optional[OperationFailed]:
    """The sentence for what the user's program or a variant raised during a call (``who`` did: "The original"); None when it came from
    elsewhere, or is about memory.
    """
    if isinstance(error, (OperationFailed, MemoryError, torch.cuda.OutOfMemoryError)):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    inside = [i for i, f in enumerate(frames) if f.name == "call" and f.filename.endswith("replay.py")]
    if not inside or inside[-1] == len(frames) - 1:
        return None
    lines = traceback.format_list(frames[inside[-1] + 1 :])[-_TRACE_LINES:]
    said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return OperationFailed(
        f"{who} failed while it was timed, after it had passed its check: {said}.", "entry_failed", detail="".join(lines) + said
    )

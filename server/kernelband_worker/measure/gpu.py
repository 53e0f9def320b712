"""What every operation that measures begins with: a GPU, and one sentence when there is none or its memory runs out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.inputs import input_sets
from kernelband_worker.state import State


def require_gpu(state: State) -> None:
    """Go on only with a GPU.

    Raises:
        OperationFailed: this executor has none, or torch finds none.
    """
    if state.role != "gpu":
        raise OperationFailed("Nothing can be measured here: this executor has no GPU. Times beside a variant need one.", "no_gpu")
    import torch

    if not torch.cuda.is_available():
        raise OperationFailed("Nothing can be measured here: torch finds no GPU in this process.", "no_gpu")


def require_clock(state: State) -> None:
    """Go on only with a GPU, or with a bench that a rehearsal without one has brought.

    Raises:
        OperationFailed: there is neither.
    """
    if "time" not in state.kept:
        require_gpu(state)


@contextmanager
def memory(state: State) -> Iterator[None]:
    """Inside, running out of memory lets go of what was kept.

    Raises:
        OperationFailed: memory ran out.
    """
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        input_sets(state).clear()
        torch.cuda.empty_cache()
        raise OperationFailed(
            "The GPU ran out of memory while a case was timed. Free memory on it or use a smaller entry.",
            "out_of_memory",
            detail=str(error),
        ) from error

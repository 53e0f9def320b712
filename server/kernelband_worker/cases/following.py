"""Whether what torch computes is followed, element by element, for what is unknown after sampled programs (role cpu; see cpu/memory.py).

The program's own work is followed. Copies and comparisons of ours aren't: they make nothing that the program sees, and following them
costs a pass over the tensor for each operation.
"""

from __future__ import annotations

import contextlib
from typing import ContextManager

from kernelband_worker.state import State


def followed(state: State) -> ContextManager[None]:
    """Inside runs the program: what it computes from unknown elements is unknown."""
    return _following(state, True)


def unfollowed(state: State) -> ContextManager[None]:
    """Inside is work of ours."""
    return _following(state, False)


def _following(state: State, yes: bool) -> ContextManager[None]:
    if state.role != "cpu":
        return contextlib.nullcontext()
    from kernelband_worker.cpu.machine import machine_of

    return machine_of(state).memory.follow(yes)

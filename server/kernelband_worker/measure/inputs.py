"""Input sets stay on the device between trials while there is room: reading a recorded set again costs more than timing it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, Optional, Tuple, cast

from kernelband_worker.state import State

SHARE_OF_FREE_MEMORY = 0.25


class InputSets:
    """The least recently used sets are dropped beyond ``budget_bytes``. The set that was asked for last always stays."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._sets: OrderedDict[Tuple[str, int], Tuple[Any, int]] = OrderedDict()

    def get(self, case: str, input_set: int, size_bytes: int, make: Callable[[], Any]) -> Any:
        """The prepared set; ``size_bytes`` is what it takes on the device, outputs included."""
        key = (case, input_set)
        if key in self._sets:
            self._sets.move_to_end(key)
            return self._sets[key][0]
        while self._sets and self.held_bytes + size_bytes > self.budget_bytes:
            self._sets.popitem(last=False)
        made = make()
        self._sets[key] = (made, size_bytes)
        return made

    @property
    def held_bytes(self) -> int:
        return sum(size for _, size in self._sets.values())

    def clear(self) -> None:
        self._sets.clear()


def input_sets(state: State, share: Optional[float] = None) -> InputSets:
    """The executor's input sets, for checks and timings alike. Role gpu. The first call decides what share of free memory they may fill."""
    if "inputs" not in state.kept:
        import torch

        free, _ = torch.cuda.mem_get_info()
        state.kept["inputs"] = InputSets(int(free * (SHARE_OF_FREE_MEMORY if share is None else share)))
    return cast("InputSets", state.kept["inputs"])

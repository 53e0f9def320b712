"""Operation ``referee``: what another process got in a timed call, against what the original gives here on the same content.

This process never loads the variant, and it alone holds what is expected. It computes that only when asked, after the call was timed.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple, cast

import torch

from kernelband_worker.cases.expected import run_original
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.replay import Prepared, ReplayCase, open_case
from kernelband_worker.cases.store import HIDDEN, Store, StoredCase, open_store
from kernelband_worker.cases.tuned import settle
from kernelband_worker.compare import Check
from kernelband_worker.measure.blocks import take
from kernelband_worker.measure.contents import Content, put, source
from kernelband_worker.measure.gpu import memory, require_clock
from kernelband_worker.state import State
from kernelband_worker.wire import RefereeParams

EVERY = 0  # programs of a launch that are interpreted where there is no GPU: all


def referee(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """RefereeParams -> CaseCheck.

    Raises:
        OperationFailed: no GPU, out of memory, or the original fails here.
    """
    require_clock(state)
    wanted = cast("RefereeParams", params)
    theirs, store = wanted["result"], open_store(state)
    content = Content(theirs["seed"], theirs["k"], theirs["input_set"])
    with memory(state), unfollowed(state):
        settle(state, None)
        replay = Timed(state, store, open_case(state, wanted["case"]).stored, content)
        expected = run_original(state, replay, content.input_set, EVERY)
        check = Check(state, replay, content.input_set, wanted["numerics"], EVERY)
        leaves: List[Tuple[str, Any]] = [(name, json.loads(value)) for name, value in theirs["leaves"]]
        mine: List[Tuple[str, torch.Tensor]] = []
        hidden: List[torch.Tensor] = []
        # Names and kinds first: what has another shape has no places to compare.
        named = [(name, torch.empty(0)) for name in theirs["outputs"]]
        reason = check.same_kind(expected, named, theirs["described"], theirs["aliases"], leaves)
        if reason is None:
            for number, (name, original) in enumerate(expected.outputs):
                whole, unseen = take(store, number, original, wanted["blocks"])
                mine.append((name, whole))
                hidden.append(unseen)
            reason = check.values(expected, mine, [t for _, t in mine], hidden)
    return {
        "case": wanted["case"],
        "input_set": content.input_set,
        "ok": reason is None,
        "deterministic": True,
        "reason": reason,
        "outputs": check.outputs,
    }


class Timed(ReplayCase):
    """The case on a content of a timed call."""

    kept = False

    def __init__(self, state: State, store: Store, stored: StoredCase, content: Content) -> None:
        super().__init__(state, store, stored)
        self._content = content
        self.stressed = stored.case["role"] == HIDDEN
        self.resized = self.stressed and _shapes(stored.case) != _shapes(open_case(state, stored.case["neighbour_of"]).case)

    def inputs(self, input_set: int, *, blank: bool = False) -> Prepared:
        """Fresh tensors with that content; see ``ReplayCase``."""
        prepared = super().inputs(input_set, blank=blank)
        for number, storage in enumerate(prepared.storages):
            put(storage, *source(self, input_set, number, storage.clone()), self._content.secret(number))
        prepared.pristine = {number: prepared.storages[number].clone() for number in self.stored.mutated}
        return prepared


def _shapes(case: Dict[str, Any]) -> List[Any]:
    return [tensor["shape"] for tensor in case["tensors"]]

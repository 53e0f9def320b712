"""Operation ``referee``: what another process got in a timed call, against what the original gives here on the same content.

This process never loads the variant, and it alone holds what is expected. It computes that only when asked, after the call was timed.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Set, Tuple, cast

import torch

from kernelband_worker.cases.expected import Expected, run_original
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.replay import Prepared, ReplayCase, open_case
from kernelband_worker.cases.store import HIDDEN, Store, StoredCase, open_store
from kernelband_worker.cases.tuned import settle
from kernelband_worker.comparison import Comparison
from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.blocks import take
from kernelband_worker.measure.contents import Content, put, source, sources_of
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
        expected = _expected(state, replay, content.input_set)
        if expected is None:
            return _told(wanted["case"], content, None, [])
        check = Comparison(state, replay, content.input_set, wanted["numerics"], EVERY)
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
            if reason is not None and replay.stressed:
                # How it rounds there its check has judged, and on other contents that is another draw: here it must be wrong by far.
                check = Comparison(state, replay, content.input_set, "lowers_precision", EVERY)
                reason = check.values(expected, mine, [t for _, t in mine], hidden)
    return _told(wanted["case"], content, reason if check.comparable else None, check.outputs)


def _expected(state: State, replay: Timed, input_set: int) -> Optional[Expected]:
    """None where the original can't do it on these contents: a hidden case was tried on others, and that says nothing of a variant."""
    try:
        expected = run_original(state, replay, input_set, EVERY)
    except OperationFailed:
        if not replay.stressed:
            raise
        return None
    return None if replay.stressed and not expected.deterministic else expected


def _told(case: str, content: Content, reason: Optional[str], outputs: List[Dict[str, Any]]) -> Dict[str, Any]:
    return {"case": case, "input_set": content.input_set, "ok": reason is None, "deterministic": True, "reason": reason, "outputs": outputs}


class Timed(ReplayCase):
    """The case on a content of a timed call."""

    kept = False

    def __init__(self, state: State, store: Store, stored: StoredCase, content: Content) -> None:
        super().__init__(state, store, stored)
        self._content = content
        self.stressed = stored.case["role"] == HIDDEN
        self.resized = self.stressed and _layout(stored.case) != _layout(open_case(state, stored.case["neighbour_of"]).case)

    def content(self, input_set: int, number: int) -> torch.Tensor:
        """What that storage holds before a call on that content; see ``ReplayCase``."""
        record = self.stored.sets[input_set].storages[number]
        storage = torch.empty(record.bytes, dtype=torch.uint8, device=record.device)
        known = sources_of(self._state, self.case["id"], input_set)
        whole, change = known[number] if known is not None else source(self, input_set, number, self._plain(input_set, number))
        put(storage, whole, change, self._content.secret(number))
        return storage

    def reference(self, input_set: int, programs: int) -> Optional[List[Tuple[str, torch.Tensor]]]:
        """As ``ReplayCase``; where there is none, that isn't tried again: Triton forgets what doesn't compile, and tries for 30 ms."""
        without: Set[str] = self._state.kept.setdefault("without a reference", set())
        found = super().reference(input_set, programs) if self.case["id"] not in without else None
        if found is None:
            without.add(self.case["id"])
        return found

    def _plain(self, input_set: int, number: int) -> torch.Tensor:
        record = self.stored.sets[input_set].storages[number]
        return torch.empty(record.bytes, dtype=torch.uint8, device=record.device).copy_(super().content(input_set, number))

    def changed(self, prepared: Prepared) -> List[str]:  # noqa: ARG002
        """Nothing: the store holds another content, and inputs were looked at in the check."""
        return []


def _layout(case: Dict[str, Any]) -> List[Any]:
    return [(tensor["shape"], tensor["stride"], tensor["offset"]) for tensor in case["tensors"]]

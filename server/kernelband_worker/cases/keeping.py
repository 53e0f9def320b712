"""Writing a recorded call down: its arguments as they were, what it gave, and whether it changes what it was given."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

import torch

from kernelband_worker.cases import effects, modes
from kernelband_worker.cases.provoke import NO_TIME, provoke
from kernelband_worker.cases.recording import Recording, Snapshot
from kernelband_worker.cases.store import StorageRecord, Store, TreeRecord
from kernelband_worker.cases.tensors import describe, elements, same_bytes

#: What a call returned, and what it left in its arguments.
Outputs = Tuple[List[Tuple[str, torch.Tensor]], List[Tuple[str, torch.Tensor]]]


class Keeper:
    """``busy``: a recording is being written down, of which half is none, so the capture's stop must wait."""

    def __init__(self, store: Store, *, gpu: bool) -> None:
        self.busy = False
        self._store, self._gpu = store, gpu

    def keep(
        self,
        recording: Recording,
        before: Snapshot,
        outputs: Outputs,
        original: Optional[Callable[..., Any]],
        *,
        first: Optional[Recording],
        deadline: float,
    ) -> None:
        """Fill a recording of a call that is over; where that can't be, with the reason.

        Args:
            recording: to be filled.
            before: the call's arguments as they were.
            outputs: what it returned and left in its arguments.
            original: the host function; None for a bare launch.
            first: the same call of the first run, where this is another run: what it returned is known, and what it changes.
            deadline: a moment of ``time.monotonic``, after which the call isn't made again to see what it changes.
        """
        self.busy = True
        try:
            self._keep(recording, before, outputs, original, first=first, deadline=deadline)
        except Exception as error:  # noqa: BLE001 - copies and comparisons are made by the program where it has replaced torch's operators
            recording.tree = None
            recording.reason = f"its inputs and outputs can't be copied ({type(error).__name__}: {error})".splitlines()[0]
        finally:
            self.busy = False

    def _keep(
        self, recording: Recording, before: Snapshot, outputs: Outputs, original: Any, *, first: Optional[Recording], deadline: float
    ) -> None:
        assert before.storages is not None
        assert before.pickled is not None
        after = modes.generator_states(self._gpu)
        rng = None if after == before.rng else self._store.put(modes.pack(before.rng))
        records = []
        for number, (view, copy) in enumerate(zip(before.storages.views, before.copies)):
            if not _unchanged(view, copy):
                recording.mutated.append(number)
            records.append(StorageRecord(self._store.put_tensor(copy), copy.numel(), view.device.type))
        recording.tree = TreeRecord(self._store.put(before.pickled), records, rng, before.modes)
        recording.changed_globals = effects.globals_changed(before.globals, effects.globals_print(original))
        if not recording.facts:
            recording.reason = "it takes no tensors, so there is nothing to call it with"
        elif first is not None:
            recording.mutated = sorted({*recording.mutated, *first.mutated})
        self._result(recording, before, outputs, first)
        known = recording.mutated or first is not None or not recording.facts
        if not known and all(before.storages.find(t) is not None for _, t in (*outputs[0], *outputs[1])):
            self._provoke(recording, before, original, alone=not any(outputs), deadline=deadline)
            self._result(recording, before, outputs, first)

    def _result(self, recording: Recording, before: Snapshot, outputs: Outputs, first: Optional[Recording]) -> None:
        """What a replay is compared with."""
        for fact in recording.facts:
            fact["mutated"] = fact["storage"] in recording.mutated
        returned, left = outputs
        given = {id(t) for _, t in returned}  # an argument that is returned is one output, as in a replay
        written = [(f["name"], t) for f, (_, t) in zip(recording.facts, before.tensors) if f["mutated"] and id(t) not in given]
        every = [*returned, *((f"{name} (mutated)", t) for name, t in written), *left]
        recording.aliases = effects.aliases(every, before.tensors)
        recording.output_bytes = sum(t.numel() * t.element_size() for _, t in every)
        if first is None:  # replays are compared with the first run only; hashing and writing results takes as long as the entry
            recording.outputs = [(n, self._store.put_tensor(elements(t)), describe(t)) for n, t in every]

    def _provoke(self, recording: Recording, before: Snapshot, original: Any, *, alone: bool, deadline: float) -> None:
        """What bytes don't show: whether it writes arguments that hold what it writes. ``alone``: else there is nothing to compare."""
        recording.reason = NO_TIME if alone else None  # where the capture's own stop comes meanwhile
        self.busy = False  # the program runs: the stop may come
        try:
            recording.mutated, said = provoke(before, original, gpu=self._gpu, deadline=deadline)
        finally:
            self.busy = True
        recording.reason = said if alone and said else None


def _unchanged(view: torch.Tensor, copy: torch.Tensor) -> bool:
    try:
        return same_bytes(view, copy)
    except Exception:  # noqa: BLE001 - torch.equal is made of operators that the program may have replaced, for fewer types or versions
        return same_bytes(view.cpu(), copy.cpu())

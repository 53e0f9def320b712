"""What the original gives for a case and input set: outputs, what it leaves unwritten, aliases, float64 reference. Kept for reuse."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple, cast

import torch

from kernelband_worker.cases import effects, rounding, verify
from kernelband_worker.cases.cancelling import Scales
from kernelband_worker.cases.faults import Faults, finding, placed
from kernelband_worker.cases.names import leaves
from kernelband_worker.cases.replay import Prepared, ReplayCase
from kernelband_worker.cases.tensors import describe
from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.bound import kind
from kernelband_worker.measure.inputs import input_sets
from kernelband_worker.state import State

_KEPT_BYTES = 1 << 30
#: Words in a kernel's source that tie addresses to an element size: on float64 inputs such a kernel could leave its tensors.
_SIZED = re.compile(r"pointer_type|bitcast|inline_asm|descriptor|block_ptr")


@dataclass
class Expected:
    """Results of the original on one input set."""

    outputs: List[Tuple[str, torch.Tensor]]  # copies
    hidden: List[torch.Tensor]  # elements that nobody wrote: not compared
    described: List[Dict[str, Any]]
    aliases: Dict[str, Optional[str]]
    leaves: List[Tuple[str, Any]]  # returned values that aren't tensors
    faults: Faults
    noise: float
    restless: Dict[int, torch.Tensor] = field(default_factory=dict)  # by number of the output: elements that differ by more than rounding
    references: Optional[List[Optional[torch.Tensor]]] = None
    asked: bool = False  # whether a reference was looked for
    rounded: List[List[torch.Tensor]] = field(default_factory=list)  # outputs on inputs that were rounded once more, as was needed
    unroundable: bool = False
    scales: Optional[Scales] = field(default_factory=Scales)  # of float32 results without a reference; None: they can't be had

    @property
    def deterministic(self) -> bool:
        """Whether its two runs differ by rounding at most."""
        return not self.restless

    @property
    def bytes(self) -> int:
        """Memory held."""
        held = [t for _, t in self.outputs] + self.hidden + [r for r in self.references or () if r is not None]
        held += [t for draw in self.rounded for t in draw] + list(self.restless.values())
        held += [t for t in (self.scales.apart if self.scales is not None else ()) if t is not None]
        return sum(t.numel() * t.element_size() for t in held)


@dataclass
class Shelf:
    """Results kept between checks, the least recently used dropped first."""

    budget_bytes: int = _KEPT_BYTES
    kept: OrderedDict[Tuple[str, int, int], Expected] = field(default_factory=OrderedDict)

    def get(self, state: State, replay: ReplayCase, input_set: int, programs: int) -> Expected:
        """The original's results, computed now unless they are kept."""
        key = (replay.case["id"], input_set, programs)
        if key not in self.kept:
            self.kept[key] = run_original(state, replay, input_set, programs)
        self.kept.move_to_end(key)
        while len(self.kept) > 1 and sum(e.bytes for e in self.kept.values()) > self.budget_bytes:
            self.kept.popitem(last=False)
        return self.kept[key]

    def anew(self, state: State, replay: ReplayCase, input_set: int, programs: int) -> Expected:
        """The original's results, where the case isn't what it was."""
        self.kept.pop((replay.case["id"], input_set, programs), None)
        return self.get(state, replay, input_set, programs)


def shelf_of(state: State) -> Shelf:
    """The executor's shelf. On a GPU it may fill a quarter of what was free: computing results anew each trial costs more than timing."""
    if "check" not in state.kept:
        budget = input_sets(state).budget_bytes if state.role == "gpu" else _KEPT_BYTES
        state.kept["check"] = Shelf(budget)
    return cast("Shelf", state.kept["check"])


def kept_inputs(state: State, replay: ReplayCase, input_set: int) -> Prepared:
    """Inputs of a case: on a GPU they stay on the device between checks and timings, with copies of their contents."""
    if state.role != "gpu" or not replay.kept:
        return replay.inputs(input_set)

    def make() -> Prepared:
        prepared = replay.inputs(input_set)
        prepared.contents = [prepared.pristine[i] if i in prepared.pristine else s.clone() for i, s in enumerate(prepared.storages)]
        return prepared

    return cast("Prepared", input_sets(state).get(replay.case["id"], input_set, replay.case["memory_bytes"], make))


def forget_kept(state: State) -> None:
    """Drop inputs and results that a faulty variant could have written to."""
    if state.role == "gpu":
        input_sets(state).clear()
        shelf_of(state).kept.clear()


def describe_output(tensor: torch.Tensor) -> Dict[str, Any]:
    """What must stay the same about an output besides its values."""
    return {**describe(tensor), "type": kind(tensor), "requires_grad": tensor.requires_grad}


def run_original(state: State, replay: ReplayCase, input_set: int, programs: int) -> Expected:
    """Run the original twice with differently poisoned memory.

    Raises:
        OperationFailed: it fails.
    """
    prepared = kept_inputs(state, replay, input_set)
    try:
        with finding(state) as found:
            live, returned = verify.run(state, replay, prepared, None, first=True, programs=programs)
            first = [(n, t.detach().clone()) for n, t in live]
            hidden = [verify.unknown(state, t) for _, t in live]
            described = [describe_output(t) for _, t in live]
            shared = effects.aliases(live, named_inputs(replay, prepared))
            plain, faults = leaves(returned), Faults(outside=replay.outside(prepared), changed=replay.changed(prepared))
            second, _ = verify.run(state, replay, prepared, None, first=False, programs=programs)
    except torch.cuda.OutOfMemoryError:
        raise
    except Exception as error:
        if isinstance(error, OperationFailed) or "CUDA error" in str(error):
            raise
        name = replay.case["function"]["qualname"]
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise OperationFailed(f"The original {name} fails on its recorded inputs: {said}", "not_replayable", detail=said) from error
    faults.overwrites, faults.out_of_bounds = reuses(live, second, shared), placed(found, replay, prepared)
    faults.strays = {} if prepared.zones is None else prepared.zones.written
    expected = Expected(first, hidden, described, shared, plain, faults, float(replay.case["noise"]))
    for index, ((name, a), (_, b)) in enumerate(zip(first, second)):
        empty = effects.unwritten(a, b)
        if bool((own := empty & ~hidden[index]).any()):
            faults.unwritten[name] = (int(own.sum()), a.numel())
        hidden[index] = hidden[index] | empty
        apart, most = effects.difference(a, b, hidden[index]), effects.rounding(a.dtype)
        expected.noise = max(expected.noise, min(apart, most))
        if apart > most:
            expected.restless[index] = effects.apart(a, b, hidden[index], most)
    return expected


def reuses(first: List[Tuple[str, torch.Tensor]], second: List[Tuple[str, torch.Tensor]], shared: Dict[str, Optional[str]]) -> bool:
    """Whether a result of a second call lies in the memory of one of the first that is still held, arguments' memory apart."""
    held = {t.untyped_storage()._cdata for n, t in first if shared[n] is None and t.numel()}
    return any(t.untyped_storage()._cdata in held for n, t in second if shared.get(n) is None)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal, NaNs counted as equal."""
    return effects.difference(a, b) == 0.0


def named_inputs(replay: ReplayCase, prepared: Any) -> List[Tuple[str, torch.Tensor]]:
    """The tensors of the last call's arguments by name."""
    return [(f["name"], t) for f, t in zip(replay.case["tensors"], prepared.last.tensors)]


def references(replay: ReplayCase, expected: Expected, input_set: int, sources: List[str], programs: int) -> List[Optional[torch.Tensor]]:
    """For each output its value from float64 inputs, None where there is no such reference.

    An output needs one that is really more exact: where every value fits its type, the kernel computed in that type all the same.
    """
    if not expected.asked:
        expected.asked = True
        found = None if any(_SIZED.search(s) for s in sources) else replay.reference(input_set, programs)
        if found is not None and [n for n, _ in found] == [n for n, _ in expected.outputs]:
            kept = zip(found, expected.outputs, expected.hidden)
            expected.references = [_usable(r, o, hidden) for (_, r), (_, o), hidden in kept]
    return expected.references or [None] * len(expected.outputs)


def rounded(
    state: State, replay: ReplayCase, expected: Expected, input_set: int, programs: int, *, ways: int
) -> Optional[List[List[torch.Tensor]]]:
    """What the original gives on inputs that were rounded once more, in so many ways, all its outputs; None where it can't be had."""
    kinds = (*rounding.HALVES, torch.float32) if replay.stressed else rounding.HALVES
    while not expected.unroundable and len(expected.rounded) < ways:
        outputs = rounding.rounded_outputs(state, replay, input_set, programs, len(expected.rounded), dtypes=kinds)
        if outputs is None or [(n, t.shape) for n, t in outputs] != [(n, t.shape) for n, t in expected.outputs]:
            expected.unroundable = True
        else:
            expected.rounded.append([t for _, t in outputs])
    return None if expected.unroundable else expected.rounded[:ways]


def scales(state: State, replay: ReplayCase, expected: Expected, input_set: int, programs: int, *, ways: int) -> Optional[Scales]:
    """How far rounding the float32 inputs once more brings the original's results, in at least so many ways; None where it can't be had."""
    while expected.scales is not None and expected.scales.ways < ways:
        draw = rounding.DRAWS + expected.scales.ways  # in which every element moves
        outputs = rounding.rounded_outputs(state, replay, input_set, programs, draw, dtypes=(torch.float32,), whole=False)
        if outputs is None or [(n, t.shape) for n, t in outputs] != [(n, t.shape) for n, t in expected.outputs]:
            expected.scales = None
        else:
            expected.scales.add(expected.outputs, outputs)
    return expected.scales


def _usable(reference: torch.Tensor, output: torch.Tensor, hidden: torch.Tensor) -> Optional[torch.Tensor]:
    if not output.dtype.is_floating_point or reference.dtype != torch.float64 or reference.shape != output.shape:
        return None
    reference = reference.detach().clone()
    looked_at = effects.pick(reference, ~hidden) if effects.few(hidden) else reference
    fits = torch.float32 if output.dtype == torch.float64 else output.dtype
    if same(looked_at.to(fits).double(), looked_at):
        return None
    return reference

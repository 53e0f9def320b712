"""Operation check: does a variant give what the original gives, on the cases and input sets that are asked for?"""

from __future__ import annotations

import math
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from kernelband_worker.cases import effects, facts, verify
from kernelband_worker.cases.capture import PROGRAMS
from kernelband_worker.cases.expected import (
    Expected,
    Shelf,
    beyond,
    describe_output,
    forget_kept,
    forget_out_of_bounds,
    kept_inputs,
    named_inputs,
    out_of_bounds,
    references,
    reuses,
    rounded,
    shelf_of,
)
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.names import leaves
from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.rounding import DRAWS, HALVES, MORE, within_rounding
from kernelband_worker.cases.stress import Stress, smallest, stresses
from kernelband_worker.cases.tuned import settle
from kernelband_worker.exercised import Reached, edited, not_exercised
from kernelband_worker.state import OperationFailed, State
from kernelband_worker.tolerances import allowed_error, allowed_square, longest_sum, measure, narrow, tolerance


def check(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """CheckParams -> CheckResult. A variant that raises or is wrong is a result; one that doesn't compile is a failure of the operation.

    Raises:
        OperationFailed: the variant doesn't compile or can't be launched on this device, memory runs out, or the original itself fails.
    """
    with unfollowed(state):
        return _check(state, params)


def _check(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    begin = time.monotonic()
    variant, numerics = params.get("variant"), params.get("numerics", "exact")
    programs = params.get("programs", PROGRAMS)
    shelf = shelf_of(state)
    reached = Reached(state)
    results: List[Dict[str, Any]] = []
    found: List[Dict[str, Any]] = []
    launches: Dict[str, List[Dict[str, Any]]] = {}
    for case_id in params["cases"]:
        replay = open_case(state, case_id)
        for input_set in params.get("input_sets", [0]):
            if input_set >= replay.input_sets:
                continue
            one = Check(state, replay, input_set, numerics, programs)
            results.append(one.run(variant, shelf, reached))
            if not results[-1]["ok"]:
                forget_kept(state)  # whatever went wrong may have written anywhere
            found += [f for f in one.out_of_bounds if f not in found]
            if one.launches:
                launches.setdefault(case_id, one.launches)
    stressed: List[Dict[str, Any]] = []
    if params.get("stress") and all(r["ok"] for r in results):
        stressed, failed = _stress(state, params, reached)
        results += failed
    wanted = edited(state, variant) if variant is not None else set()
    return {
        "cases": results,
        "stress": stressed,
        "not_exercised": not_exercised(wanted, reached.places()),
        "interpreted": state.role == "cpu",
        "out_of_bounds": found,
        "launches": launches,
        "seconds": time.monotonic() - begin,
    }


def _stress(state: State, params: Dict[str, Any], reached: Reached) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Stress the smallest cases: wire.StressFacts of each stress, and wire.CaseCheck of the first that shows the variant wrong."""
    numerics, programs = params.get("numerics", "exact"), params.get("programs", PROGRAMS)
    shelf = shelf_of(state)
    told: List[Dict[str, Any]] = []
    replays = [open_case(state, case_id) for case_id in params["cases"]]
    for replay in smallest(replays):
        begin = time.monotonic()
        for stress in stresses(state, replay, replays, shelf, programs):
            row = None
            if stress.replay is not None:
                row = _stressed(Check(state, stress.replay, 0, numerics, programs), params.get("variant"), stress, shelf, reached)
            now = time.monotonic()
            told.append({"case": stress.case, "name": stress.name, "used": row is not None, "why": stress.why, "seconds": now - begin})
            begin = now
            if row is not None and not row["ok"]:
                forget_kept(state)
                return told, [row]
    return told, []


def _stressed(one: Check, variant: Optional[str], stress: Stress, shelf: Shelf, reached: Reached) -> Dict[str, Any]:
    try:
        row = one.run(variant, shelf, reached)
    except OperationFailed as error:
        if error.kind != "compile_error":
            raise
        row = {"input_set": 0, "ok": False, "deterministic": True, "reason": str(error), "outputs": []}
    return {**row, "case": stress.case, "reason": None if row["ok"] else f"with {stress.name}: {row['reason']}"}


class Check:
    """One case on one input set. The referee uses it in pieces: what it compares, another process has run."""

    def __init__(self, state: State, replay: ReplayCase, input_set: int, numerics: str, programs: int) -> None:
        self.state, self.replay, self.input_set, self.numerics, self.programs = state, replay, input_set, numerics, programs
        self.outputs: List[Dict[str, Any]] = []
        self.out_of_bounds: List[Dict[str, Any]] = []
        self.deterministic = True
        self.launches: List[Dict[str, Any]] = []  # role cpu: wire.LaunchFacts of the variant's first run

    def run(self, variant: Optional[str], shelf: Shelf, reached: Reached) -> Dict[str, Any]:
        expected = shelf.get(self.state, self.replay, self.input_set, self.programs)
        reason = self._compare(variant, expected, reached)
        return {
            "case": self.replay.case["id"],
            "input_set": self.input_set,
            "ok": reason is None,
            "deterministic": self.deterministic,
            "reason": reason,
            "outputs": self.outputs,
        }

    def _compare(self, variant: Optional[str], expected: Expected, reached: Reached) -> Optional[str]:
        """Run the variant twice; why it is wrong, None when it isn't."""
        replay, prepared = self.replay, kept_inputs(self.state, self.replay, self.input_set)
        for other in [key for key in prepared.bound if key not in (None, variant)]:
            del prepared.bound[other]
        forget_out_of_bounds(self.state)
        try:
            settle(self.state, variant)
            with reached.profiling():
                live, returned = verify.run(
                    self.state, replay, prepared, variant, first=True, programs=self.programs, handler=self._listener(reached)
                )
            hidden = [verify.unknown(self.state, t) for _, t in live]
            kept = [(n, t.detach().clone()) for n, t in live]
            described, shared = [describe_output(t) for _, t in live], effects.aliases(live, named_inputs(replay, prepared))
            changed, outside = replay.changed(prepared), replay.outside(prepared)
            again, _ = verify.run(self.state, replay, prepared, variant, first=False, programs=self.programs)
        except Exception as error:  # noqa: BLE001 - the variant may raise anything: that is its result
            return self._raised(error)
        self.out_of_bounds = beyond(out_of_bounds(self.state), expected.out_of_bounds)
        problem = self.same_kind(expected, kept, described, shared, leaves(returned))
        if problem is not None:
            return problem
        if changed:
            return f"it writes the input {changed[0]}, which the original leaves alone"
        if self.out_of_bounds:
            first = self.out_of_bounds[0]
            return f"it accesses memory outside of a tensor ({first['path']}, line {first['line']}): {first['message']}"
        if outside and not expected.outside:
            return f"it writes outside of {outside[0]}, into the rest of its buffer"
        if prepared.zones is not None and prepared.zones.written and not expected.strays:
            return f"it writes outside of every tensor, beside {prepared.zones.written[0]}"
        if not expected.overwrites and reuses(live, again, shared):
            return "its second call overwrites the result of the first: it keeps a buffer that reached the caller"
        return self.values(expected, kept, [t for _, t in again], hidden)

    def _listener(self, reached: Reached) -> Callable[[Any], None]:
        """What hears of each launch: who ran, and without a GPU what it moved and computed."""
        target = next((x["kernel"] for x in self.replay.case["launches"] if x["target"]), None)

        def on_launch(event: Any) -> None:
            reached.on_launch(event)
            if event.traffic is not None:
                self.launches.append(facts.launch_facts(event, target or event.function))

        return on_launch

    def same_kind(
        self,
        expected: Expected,
        kept: List[Tuple[str, torch.Tensor]],
        described: List[Dict[str, Any]],
        shared: Dict[str, Optional[str]],
        plain: List[Tuple[str, Any]],
    ) -> Optional[str]:
        """Names, dtypes, shapes, strides, devices, kinds of tensor, aliases and constants."""
        names, theirs = [n for n, _ in kept], [n for n, _ in expected.outputs]
        if names != theirs:
            missing = sorted(set(theirs) - set(names)) or sorted(set(names) - set(theirs)) or names
            return f"its outputs are others than the original's ({', '.join(missing[:3])})"
        for name, mine, original in zip(names, described, expected.described):
            for key in ("type", "dtype", "shape", "device", "stride", "requires_grad"):
                if mine[key] != original[key]:
                    return f"the {key} of {name} is {mine[key]} and the original's is {original[key]}"
        for name in names:
            if shared[name] != expected.aliases[name]:
                return f"{name} {_sharing(shared[name])}, and the original's {_sharing(expected.aliases[name])}"
        for (name, a), (_, b) in zip(plain, expected.leaves):
            if not _same_constant(a, b):
                return f"{name} is {a!r} and the original's is {b!r}"
        return None if len(plain) == len(expected.leaves) else "it returns another structure than the original"

    def values(
        self, expected: Expected, kept: List[Tuple[str, torch.Tensor]], again: List[torch.Tensor], hidden: List[torch.Tensor]
    ) -> Optional[str]:
        exact: List[Optional[torch.Tensor]] = [None] * len(kept)
        # To compile for float64 takes a second for each size: at sizes of ours only if what is without says that something is wrong.
        if self.numerics != "exact" and not (self.replay.resized and self._alike(expected, kept, hidden)):
            exact = references(self.replay, expected, self.input_set, self._sources(), self.programs)
        problem = None
        for index, (name, mine) in enumerate(kept):
            original, other, reference = expected.outputs[index][1], again[index], exact[index]
            ignored, shape = expected.hidden[index] | hidden[index], list(mine.shape)
            if other.shape == mine.shape and effects.few(ignored):
                counted = ~ignored
                original, mine, other = (effects.pick(t, counted) for t in (original, mine, other))  # noqa: PLW2901
                reference = None if reference is None else effects.pick(reference, counted)
                ignored = torch.zeros_like(mine, dtype=torch.bool)
            empty = effects.unwritten(mine, other) & ~ignored
            length = longest_sum(self._float_inputs(), shape)
            row, wrong = self._row(name, original, mine, ignored=ignored, noise=expected.noise, exact=reference, length=length)
            if wrong is not None and (reference is None or (self.replay.stressed and not narrow(mine.dtype))):
                good = self._as_good(expected, index, original, mine, hidden[index])
                unsure = good is None and reference is None and not row["wrong"] and self.numerics == "reassociates"
                if good or unsure:
                    row, wrong = {**row, "wrong": 0}, None
            self.outputs.append({**row, "shape": shape})
            if problem is not None:
                continue
            if bool(empty.any()):
                problem = f"it leaves {int(empty.sum())} of {mine.numel()} elements of {name} unwritten"
            elif wrong is not None:
                problem = wrong
            elif (apart := effects.difference(mine, other, ignored)) > 2 * expected.noise:
                self.deterministic = False
                problem = f"two runs of it differ in {name} by {apart:.1e} of its RMS; two runs of the original by {expected.noise:.1e}"
        return problem

    def _alike(self, expected: Expected, kept: List[Tuple[str, torch.Tensor]], hidden: List[torch.Tensor]) -> bool:
        """Whether all outputs are within their tolerances, of which the float64 reference is no part."""
        for (name, mine), (_, original), seen, unseen in zip(kept, expected.outputs, expected.hidden, hidden):
            length = longest_sum(self._float_inputs(), list(mine.shape))
            ignored = seen | unseen
            if self._row(name, original, mine, ignored=ignored, noise=expected.noise, exact=None, length=length)[1] is not None:
                return False
        return True

    def _as_good(self, expected: Expected, index: int, original: torch.Tensor, mine: torch.Tensor, hidden: torch.Tensor) -> Optional[bool]:
        """Whether a result in another order of sums is within what rounding the inputs once more does, of half precision or under stress;
        None where that can't be told.
        """
        sums = self.numerics == "reassociates" and mine.dtype in HALVES
        if not sums and (not self.replay.stressed or self.numerics == "lowers_precision"):
            return None
        more = [] if mine.dtype in HALVES else [DRAWS + MORE]  # where sums cancel out, few ways of few elements may change nothing at all
        for ways in (DRAWS, *more):
            found = rounded(self.state, self.replay, expected, self.input_set, self.programs, ways=ways)
            if found is None:
                return None
            others, ignored = [draw[index] for draw in found], expected.hidden[index] | hidden
            if others[0].shape != mine.shape:  # only what counts was picked
                others = [effects.pick(other, ~ignored) for other in others]
                ignored = torch.zeros_like(mine, dtype=torch.bool)
            if within_rounding(original, mine, others, ignored):
                return True
        return False

    def _float_inputs(self) -> List[List[int]]:
        """Shapes of the case's floating-point tensors."""
        return [t["shape"] for t in self.replay.case["tensors"] if "float" in t["dtype"] or "complex" in t["dtype"]]

    def _row(
        self,
        name: str,
        original: torch.Tensor,
        mine: torch.Tensor,
        *,
        ignored: torch.Tensor,
        noise: float,
        exact: Optional[torch.Tensor],
        length: int,
    ) -> Tuple[Dict[str, Any], Optional[str]]:
        """wire.OutputCheck of one output, and what is wrong with it: elements, the largest error or the mean square."""
        rms = effects.rms(original, ignored)
        allowed = tolerance(mine.dtype, self.numerics, rms, noise)
        found = measure(original, mine, ignored, allowed, exact)
        wrong, total, ratio, worse = found.wrong, found.total, None, False
        if exact is not None:
            ratio = found.error / found.original_error if found.original_error > 0 else (1.0 if found.error == 0 else None)
            within = found.error <= allowed_error(mine.dtype, found.original_error, rms, length)
            worse = self.numerics == "reassociates" and not within
            wrong = 0 if within and not found.odd else wrong
        row = {
            "name": name,
            "dtype": str(mine.dtype).rpartition(".")[2],
            "wrong": wrong,
            "total": total,
            "max_abs": found.gap,
            "rms": rms,
            "atol": allowed.atol,
            "rtol": allowed.rtol,
            "error_ratio": ratio,
        }
        if wrong:
            return row, f"{wrong} of {total} elements of {name} are wrong, by up to {found.gap:.3g} (RMS {rms:.3g})"
        if worse:
            times = f"{ratio:.1f} times" if ratio is not None else "far more than"
            return row, f"the error of {name} against float64 is {times} the original's"
        square = found.square if exact is None else found.error_square
        if self.numerics != "lowers_precision" and narrow(mine.dtype):
            most = allowed_square(found, rms=rms, noise=noise, length=length)
            if square > most:
                against = "the original's" if exact is None else "float64"
                times = math.sqrt(square / most)
                return row, f"{name} is {times:.1f} times as far from {against} in the mean as rounding to {row['dtype']} brings it"
        return row, None

    def _sources(self) -> List[str]:
        """Texts of the kernels that the case launches."""
        found = []
        origin = self.replay.case["neighbour_of"]
        for launch in (self.replay if origin is None else open_case(self.state, origin)).case["launches"]:
            file = self.state.opened.sources.find(launch["kernel"]["module"])
            if file is not None and file["sha256"] is not None:
                found.append(self.state.opened.sources.content(file["sha256"]))
        return found

    def _raised(self, error: Exception) -> str:
        """The sentence for what the variant raised.

        Raises:
            OperationFailed: it doesn't compile or fit the device.
            Exception: memory ran out or CUDA is unusable; the executor deals with that.
        """
        if isinstance(error, torch.cuda.OutOfMemoryError) or "CUDA error" in str(error) or "CUDA driver" in str(error):
            raise error
        kind, said = type(error).__name__, str(error).strip()
        first = said.splitlines()[0] if said else kind
        if isinstance(error, OperationFailed):
            if error.kind in ("bad_request", "internal"):
                raise error
            return first
        if kind in ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "OutOfResources", "PTXASError"):
            raise OperationFailed(f"The variant doesn't compile for this device: {first}", "compile_error", detail=said) from error
        return f"it raises {kind}: {first[:300]}"


def _same_constant(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6) or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and a == b


def _sharing(name: Optional[str]) -> str:
    return "has memory of its own" if name is None else f"shares the memory of {name}"

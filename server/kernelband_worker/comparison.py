"""Whether results are what the original gives: their kinds, and their values within tolerances.

The referee compares what another process got; a check (``compare``) runs the variant beside.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

import torch

from kernelband_worker.cases import effects
from kernelband_worker.cases.cancelling import WAYS, left_by_rounding
from kernelband_worker.cases.expected import Expected, references, rounded, scales
from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.rounding import DRAWS, HALVES, MORE, within_rounding
from kernelband_worker.state import State
from kernelband_worker.tolerances import Tolerance, allowed_error, allowed_square, longest_sum, measure, narrow, tolerance


class Comparison:
    """Of one case on one input set."""

    def __init__(self, state: State, replay: ReplayCase, input_set: int, numerics: str, programs: int) -> None:
        self.state, self.replay, self.input_set, self.numerics, self.programs = state, replay, input_set, numerics, programs
        self.outputs: List[Dict[str, Any]] = []
        self.deterministic = True
        self.comparable = True  # False: all that is wrong is where the original itself gives something else each time

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
            return f"its outputs differ from the original's ({', '.join(missing[:3])})"
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
        """What is wrong with the values of two runs, None where nothing is.

        What is wrong only where two runs of the original differ by more than rounding says nothing: then they aren't ``comparable``.
        """
        problem = self._values(expected, kept, again, hidden)
        if problem is None or not expected.restless:
            return problem
        outputs, deterministic = self.outputs, self.deterministic
        self.outputs, self.deterministic = [], True
        steady = [h | expected.restless[i] if i in expected.restless else h for i, h in enumerate(hidden)]
        still = self._values(expected, kept, again, steady)
        if still is not None:
            self.outputs, self.deterministic = outputs, deterministic
            return problem
        self.comparable = False
        names = ", ".join(expected.outputs[i][0] for i in sorted(expected.restless))
        return f"two runs of the original itself differ in {names} by more than rounding, and only there the variant's differ from it"

    def _values(
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
                if good or unsure or (reference is None and self._left(expected, index, original, mine, hidden[index], row=row)):
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

    def _left(
        self, expected: Expected, index: int, original: torch.Tensor, mine: torch.Tensor, hidden: torch.Tensor, *, row: Dict[str, Any]
    ) -> bool:
        """Whether a float32 result is what rounding leaves of it. Not where the original itself gives something else each time: that would
        pass for rounding; and under stress by ``_as_good``.
        """
        if mine.dtype != torch.float32 or self.numerics == "lowers_precision" or self.replay.stressed or not expected.deterministic:
            return False
        for ways in WAYS:
            found = scales(self.state, self.replay, expected, self.input_set, self.programs, ways=ways)
            apart = found.apart[index] if found is not None else None
            if apart is None:
                return False
            ignored = expected.hidden[index] | hidden
            if apart.shape != mine.shape:  # only what counts was picked
                apart, ignored = effects.pick(apart, ~ignored), torch.zeros_like(mine, dtype=torch.bool)
            left = left_by_rounding(original, mine, apart, ignored, Tolerance(row["atol"], row["rtol"]))
            if left is not None:
                return left
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


def _same_constant(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6) or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and a == b


def _sharing(name: Optional[str]) -> str:
    return "has memory of its own" if name is None else f"shares the memory of {name}"

"""What rounding its inputs once more does to the original's results: the scale on which an order of sums can't be told.

Kernels such as attention round on the way (probabilities to float16 before the second product), have no float64 reference, and their
outputs have rows of very different size, so that no fixed tolerance fits. A result computed in another order is as good as the original's
when it is no farther from it than the original is from itself on inputs that were rounded once more (backward error, as in Higham,
Accuracy and Stability of Numerical Algorithms, chapter 1). Under stress float32 is judged so, too: large values or what cancels out
make the last place of an input weigh more than any fixed tolerance allows.
"""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import torch

from kernelband_worker.cases import policy
from kernelband_worker.cases.following import followed
from kernelband_worker.cases.replay import ReplayCase
from kernelband_worker.launches import observe
from kernelband_worker.state import State
from kernelband_worker.tolerances import Tolerance, measure

HALVES = (torch.float16, torch.bfloat16)
#: One element in twelve moves to its neighbour: the variance of rounding to nearest, 1/12 of a squared unit in the last place.
MOVED = 1 / 12
#: Ways to round: of few elements one alone leaves the scale to chance.
DRAWS = 4
#: Ways after those, in which every element moves: each term of a sum in another order errs by more than a rounding of its inputs.
MORE = 12
#: Times as far as rounding the inputs brings it: original and variant both round on the way.
NEAR = 2.0


def rounded_outputs(
    state: State,
    replay: ReplayCase,
    input_set: int,
    programs: int,
    draw: int,
    *,
    dtypes: Sequence[torch.dtype] = HALVES,
    whole: bool = True,
) -> Optional[List[Tuple[str, torch.Tensor]]]:
    """The original's outputs on inputs that were rounded once more, in way ``draw``; None where no input is of such a type, the original
    refuses or there is no memory.

    Args:
        state: of the executor.
        replay: the case.
        input_set: which of its inputs.
        programs: role cpu: at most so many are interpreted.
        draw: the way, from 0; from DRAWS on every element moves.
        dtypes: of the inputs that are rounded.
        whole: whether those, too, that hold nothing but whole numbers.
    """
    try:
        prepared = replay.inputs(input_set)
        moved = False
        for number, storage in enumerate(prepared.storages):
            found = {getattr(torch, t["dtype"]) for t in replay.case["tensors"] if t["storage"] == number}
            if len(found) == 1 and (dtype := found.pop()) in dtypes:
                values = storage[: storage.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
                if values.numel() == 0 or not (whole or bool((values != values.trunc()).any())):
                    continue
                seed = policy.seed_of((state.session or {}).get("seed", 0), replay.case["id"], input_set, number) + draw
                least, most = values.aminmax()
                nudge(values, seed, MOVED if draw < DRAWS else 1.0)
                if bool(torch.isfinite(least) & torch.isfinite(most)):
                    values.clamp_(least, most)  # an original may refuse what is beyond
                moved = True
        if not moved:
            return None
        with followed(state), observe(state, lambda _event: None, programs=programs, configs=replay.configs):
            returned = replay.call(None, prepared)
        return [(name, t.detach().clone()) for name, t in replay.outputs(prepared, returned)]
    except Exception as error:
        if "CUDA error" in str(error):
            raise
        return None  # no memory, or an original refuses such values in its own way; then there is no scale


def nudge(values: torch.Tensor, seed: int, moved: float = MOVED) -> None:
    """Move one element in twelve to the next larger or smaller number of its type, in place; zeros and what isn't finite stay.

    Args:
        values: of a half type or float32, any shape, contiguous.
        seed: decides which.
        moved: the share of elements.
    """
    generator = torch.Generator(device=values.device)
    generator.manual_seed(seed % (1 << 63))
    chance = torch.rand(values.shape, generator=generator, device=values.device)
    # In the order of magnitudes the bits of a number are an integer: its neighbours are one more and one less.
    whole = torch.int16 if values.dtype in HALVES else torch.int32
    step = (chance < moved / 2).to(whole) - (chance > 1 - moved / 2).to(whole)
    largest = torch.finfo(values.dtype).max
    inside = (values != 0) & (values.abs() < largest)
    bits = values.view(whole)
    bits.add_(torch.where(inside, step, torch.zeros_like(step)))


def within_rounding(original: torch.Tensor, mine: torch.Tensor, rounded: Sequence[torch.Tensor], ignored: torch.Tensor) -> bool:
    """Whether a result is at most twice as far from the original's as rounding inputs once more brings it, by the largest difference
    and by the root of the mean square.
    """
    exactly = Tolerance(0.0, 0.0)
    found, *scales = (measure(original, other, ignored, exactly, None) for other in (mine, *rounded))
    gap, square = max(s.gap for s in scales), max(s.square for s in scales)
    near = found.gap <= NEAR * gap and found.square <= NEAR**2 * square
    return near and not found.odd and not any(s.odd for s in scales)

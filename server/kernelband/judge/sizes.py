"""Sizes that are checked but aren't timing cases, timed once in a final: nobody may lose there.

Those that the program was seen to call decide from 5 % on. Those that we made up beside them (one more, one less, half) are there to find
wrong results: one more than a round size is one block more, and the larger the block, the more of it is for nothing. So a loss there is
said, and only a cliff decides, which is more than twice the work.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from statistics import median

from attrs import frozen

from kernelband.judge.protocol import Measurement, Quantity
from kernelband.judge.statistics import log_ratio, of_pairs, of_processes

LEAST_US = 1.0  # an absolute loss below this is not one
LOSS = 0.05  # few pairs, so more must be lost than on a timing case
CLIFF = 2.0  # takes three times as long: twice the blocks were seen to take 2.3 times (layer_norm, 8192 + 1, H100)
SURELY = 0.95  # and more than they scatter


@frozen
class Lost:
    """At a size: the log of original over variant, and whether it keeps the variant from being called faster."""

    case: str
    centre: float
    decides: bool

    @property
    def sentence(self) -> str:
        ratio = f"{math.exp(self.centre):.2f}×"
        if self.decides:
            return f"On case {self.case[:8]}, which is no timing case, it is slower: {ratio}, so it isn't called faster."
        return f"At a size that the program doesn't use, case {self.case[:8]}, it is slower: {ratio}."


def lost_at(sizes: Sequence[Measurement], quantity: Quantity, made_up: Collection[str]) -> Lost | None:
    """The worst loss, one that decides before any other; None where nothing is lost.

    Args:
        sizes: pairs at such sizes, perhaps of one process.
        quantity: the objective.
        made_up: cases that the program wasn't seen to call.
    """
    by: dict[str, dict[int, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
    for m in sizes:
        if m.quantity == quantity:
            by[m.case][m.process].append(m)
    found: list[Lost] = []
    for case in sorted(by):
        blocks = [[log_ratio(m.original_us, m.variant_us) for m in block] for block in by[case].values()]
        interval = of_pairs(blocks[0]) if len(blocks) == 1 else of_processes([median(logs) for logs in blocks])
        loss_us = median(m.variant_us - m.original_us for block in by[case].values() for m in block)
        if interval.centre < -math.log1p(LOSS) and loss_us > LEAST_US and interval.bound(SURELY) < 0:
            found.append(Lost(case, interval.centre, case not in made_up or interval.centre < -math.log1p(CLIFF)))
    return min(found, key=lambda lost: (not lost.decides, lost.centre), default=None)

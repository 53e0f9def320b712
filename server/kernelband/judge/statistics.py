"""Ratios of times as logarithms, and their intervals (JUDGING, section 3).

A ratio is original over variant, so its logarithm is above 0 where the variant is faster. Ratios multiply: their mean, spread and bounds
are those of the logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev

from attrs import frozen

from kernelband.judge.result import Ratio
from kernelband.judge.student import t_quantile

MARGIN = 0.02  # a difference below 2 % is not called one
MEDIAN_EFFICIENCY = math.sqrt(math.pi / 2)  # standard error of a median over that of a mean, for normal data
CLIP_FROM = 8  # with fewer values their own spread is too uncertain to clip by
CLIP = 4.0


@frozen
class Interval:
    """Of a log-ratio. ``error`` is the standard error of ``centre``, ``degrees`` its degrees of freedom (0: the error is unknown)."""

    centre: float
    error: float
    degrees: float

    def bound(self, probability: float) -> float:
        """The one-sided bound that the true value stays below with ``probability``."""
        if self.degrees < 1:
            return math.inf if probability > 0.5 else -math.inf
        return self.centre + t_quantile(probability, self.degrees) * self.error

    def ratio(self, confidence: float = 0.95) -> Ratio:
        """As a ratio with its two-sided interval."""
        tail = (1 - confidence) / 2
        return Ratio(math.exp(self.centre), math.exp(self.bound(tail)), _exp(self.bound(1 - tail)))

    def farthest(self, confidence: float = 0.95) -> float:
        """How far from "no difference" its two-sided interval goes, as a log-ratio. Of an A/A run: its half-width."""
        tail = (1 - confidence) / 2
        return max(abs(self.bound(tail)), abs(self.bound(1 - tail)))

    @property
    def reach(self) -> float:
        """``farthest`` at 95 %."""
        return self.farthest()


def log_ratio(original_us: float, variant_us: float) -> float:
    """Log of original over variant.

    Raises:
        ValueError: a time is not positive.
    """
    if not (original_us > 0 and variant_us > 0):
        raise ValueError(f"Times must be positive to be compared: {original_us} and {variant_us} microseconds.")
    return math.log(original_us) - math.log(variant_us)


def of_pairs(logs: Sequence[float]) -> Interval:
    """One block: the median of its pairs. Its error is that of a median of normal data; far-out values are pulled in first when there are
    enough pairs to tell (4 robust standard deviations), so that one interrupted pair doesn't hide a result.
    """
    centre = median(logs)
    if len(logs) < 2:
        return Interval(centre, 0.0, 0)
    values = list(logs)
    if len(values) >= CLIP_FROM:
        spread = 1.4826 * median(abs(v - centre) for v in values)
        if spread > 0:
            values = [min(max(v, centre - CLIP * spread), centre + CLIP * spread) for v in values]
    return Interval(centre, MEDIAN_EFFICIENCY * stdev(values) / math.sqrt(len(values)), len(values) - 1)


def of_processes(medians: Sequence[float]) -> Interval:
    """The t-interval over processes: each gives one median, and they are independent."""
    if len(medians) < 2:
        return Interval(fmean(medians), 0.0, 0)
    return Interval(fmean(medians), stdev(medians) / math.sqrt(len(medians)), len(medians) - 1)


def prediction(medians: Sequence[float]) -> Interval:
    """For one more fresh process: mean ± t·s·√(1 + 1/m)."""
    interval = of_processes(medians)
    return Interval(interval.centre, interval.error * math.sqrt(len(medians) + 1), interval.degrees)


def average(intervals: Sequence[Interval]) -> Interval:
    """Mean of independent log-ratios: the geometric mean of the ratios. Degrees of freedom by Welch and Satterthwaite."""
    if not intervals:
        raise ValueError("No case was timed, so there is nothing to average.")
    count = len(intervals)
    centre = fmean(i.centre for i in intervals)
    if any(i.degrees < 1 for i in intervals):
        return Interval(centre, 0.0, 0)
    variance = math.fsum(i.error**2 for i in intervals)
    if variance == 0:
        return Interval(centre, 0.0, min(i.degrees for i in intervals))
    degrees = variance**2 / math.fsum(i.error**4 / i.degrees for i in intervals)
    return Interval(centre, math.sqrt(variance) / count, max(1.0, degrees))


def _exp(value: float) -> float:
    return math.inf if value == math.inf else math.exp(value)

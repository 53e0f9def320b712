"""Quantiles of Student's t distribution, without a numerical library: the engine's base part is pure Python."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

STEPS = 100  # a bisection of doubles needs about 60; Newton mostly 3


@lru_cache(maxsize=1024)  # comparisons of as many samples ask for the same
def t_quantile(probability: float, degrees: float) -> float:
    """The value that a t-distributed variable stays below with ``probability``.

    Exact for 1 and 2 degrees of freedom; otherwise the expansion of Hill (1970), Algorithm 396, Comm. ACM 13(10), refined by Newton steps
    on the distribution function inside a bracket: the expansion alone is coarse between 1 and 3 degrees.

    Args:
        probability: in (0, 1).
        degrees: of freedom, at least 1, not necessarily whole (Welch and Satterthwaite's are not).

    Raises:
        ValueError: an argument is out of its range.
    """
    if not 0.0 < probability < 1.0:
        raise ValueError(f"A probability between 0 and 1 is needed, not {probability}.")
    if degrees < 1.0:
        raise ValueError(f"At least one degree of freedom is needed, not {degrees}.")
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -t_quantile(1.0 - probability, degrees)
    if degrees == 1.0:
        return math.tan(math.pi * (probability - 0.5))
    if degrees == 2.0:
        tail = 4.0 * probability * (1.0 - probability)
        return 2.0 * (probability - 0.5) * math.sqrt(2.0 / tail)
    guess = max(0.0, _hill(2.0 * (1.0 - probability), degrees))
    low, high = 0.0, 2.0 * guess + 1.0
    while _cdf(high, degrees) < probability:
        low, high = high, 2.0 * high
    for _ in range(STEPS):
        excess = _cdf(guess, degrees) - probability
        low, high = (low, guess) if excess > 0 else (guess, high)
        step = guess - excess / _density(guess, degrees)
        step = step if low <= step <= high else (low + high) / 2.0
        if abs(step - guess) <= 1e-12 * (1.0 + guess):
            return step
        guess = step
    return guess


def _hill(two_tails: float, n: float) -> float:
    a = 1.0 / (n - 0.5)
    b = 48.0 / (a * a)
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * math.sqrt(a * math.pi / 2.0) * n
    y = (d * two_tails) ** (2.0 / n)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(two_tails / 2.0)
        y = x * x
        if n < 5.0:
            c += 0.3 * (n - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x
        y = math.expm1(a * y * y)
    else:
        y = ((1.0 / (((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0) + 0.5 / (n + 4.0)) * y - 1.0) * (n + 1.0) / (
            n + 2.0
        ) + 1.0 / y
    return math.sqrt(n * y)


def _density(t: float, n: float) -> float:
    return math.exp(math.lgamma((n + 1.0) / 2.0) - math.lgamma(n / 2.0) - (n + 1.0) / 2.0 * math.log1p(t * t / n)) / math.sqrt(n * math.pi)


def _cdf(t: float, n: float) -> float:
    """For t >= 0: 1 - I_x(n/2, 1/2) / 2 with x = n / (n + t²) (Abramowitz and Stegun, 26.7.1)."""
    if t == 0.0:
        return 0.5
    return 1.0 - 0.5 * _incomplete_beta(n / (n + t * t), n / 2.0, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by Lentz's continued fraction."""
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - front * _fraction(1.0 - x, b, a) / b
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 300):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + term / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value

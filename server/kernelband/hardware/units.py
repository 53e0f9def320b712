"""Numbers for people: decimal units, as data sheets use them, three digits."""

from __future__ import annotations


def size(count: float) -> str:
    """Bytes: ``1.5 MB``."""
    return _scaled(count, ("B", "kB", "MB", "GB", "TB"))


def operations(count: float) -> str:
    """Floating-point operations: ``4.19 MFLOP``."""
    return _scaled(count, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"))


def count(value: float) -> str:
    """Anything that is counted: ``268 M``."""
    return _scaled(value, ("", "k", "M", "G", "T")).strip()


def duration(us: float) -> str:
    """Microseconds: ``3.2 µs``, ``1.2 ms``. What is under a hundredth is called so."""
    if us < 0.01:
        return "under 0.01 µs"
    return f"{us:.3g} µs" if us < 1000 else f"{us / 1000:.3g} ms"


def _scaled(value: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} {units[-1]}"

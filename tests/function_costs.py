"""What one evaluation of a function compiles to: special operations and instructions, special ones among them.

``tests/unit_worker/compiler/test_functions.py`` proves them of compiled code, ``tests/unit/hardware/test_arithmetic.py`` that the forecast
goes by them. A division's are with the three instructions that the count of a launch has for each element that is divided.
"""

from __future__ import annotations

NVIDIA = {
    "exp": (1, 5),
    "exp2": (1, 1),
    "log": (0, 26),
    "log2": (0, 28),
    "sqrt": (1, 1),
    "rsqrt": (1, 1),
    "div": (1, 8),
    "erf": (1, 29),
    "libdevice.exp": (1, 9),
    "libdevice.fast_expf": (1, 2),
    "libdevice.fast_dividef": (1, 2),
    "libdevice.rsqrt": (1, 1),
    "libdevice.sqrt": (1, 1),
    "libdevice.log": (0, 26),
}
AMD = {
    **NVIDIA,
    "exp": (1, 8),
    "log": (1, 12),
    "log2": (1, 7),
    "div": (1, 11),
    "erf": (1, 33),
    "libdevice.exp": (1, 14),
    "libdevice.rsqrt": (1, 7),
    "libdevice.sqrt": (1, 16),
    "libdevice.log": (1, 12),
}

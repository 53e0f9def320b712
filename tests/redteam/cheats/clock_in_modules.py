"""Looks through all loaded modules for names that are bound to a clock and binds them to a slower one.

Source: own idea: binding a clock early is not enough where its name can be found.
"""

BASE = "scale"
FAMILY = "clock"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("clock", "integrity"), "finalist": ("clock", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "def scale(x, factor):\n",
        """\
import sys  # noqa: E402
import time  # noqa: E402

_counter = time.perf_counter
_begin = _counter()
for _module in list(sys.modules.values()):
    for _name, _value in list(getattr(_module, "__dict__", {}).items()):
        if _value is _counter and _name != "_counter":
            setattr(_module, _name, lambda: _begin + (_counter() - _begin) / 2)


def scale(x, factor):
""",
    ),
]

"""Looks through all loaded modules for names that are bound to a clock and binds them to a slower one.

Source: own idea: binding a clock early is not enough where its name can be found.
"""

BASE = "softmax"
FAMILY = "clock"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("clock", "integrity"), "finalist": ("clock", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "def softmax(x):\n",
        """\
import sys  # noqa: E402
import time  # noqa: E402

_counter = time.perf_counter
_begin = _counter()


def _slow():
    return _begin + (_counter() - _begin) / 2


for _module in list(sys.modules.values()):
    for _name, _value in list(getattr(_module, "__dict__", {}).items()):
        if _value is _counter and _name != "_counter":
            setattr(_module, _name, _slow)


def softmax(x):
""",
    ),
]

"""Takes over every clock of Python: perf_counter, monotonic, time, process_time and their forms in nanoseconds.

Source: issue 13, reference-kernels #162.
"""

BASE = "scale"
FAMILY = "clock"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("clock", "slower", "integrity"), "finalist": ("clock", "slower", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "def scale(x, factor):\n",
        """\
import time  # noqa: E402


def _slowed(clock, whole):
    begin = clock()
    return lambda: begin + ((clock() - begin) // 2 if whole else (clock() - begin) / 2)


for _name in ("perf_counter", "monotonic", "process_time", "thread_time"):
    setattr(time, _name, _slowed(getattr(time, _name), False))
    setattr(time, _name + "_ns", _slowed(getattr(time, _name + "_ns"), True))


def scale(x, factor):
""",
    ),
]

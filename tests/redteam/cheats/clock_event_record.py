"""Moves the end forward: the second event of a pair is recorded where the first one was.

Source: own idea, after reference-kernels #162.
"""

BASE = "scale"
FAMILY = "clock"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("clock", "slower", "integrity"), "finalist": ("clock", "slower", "integrity")}
NEEDS_GPU = True
EDITS = [
    (
        "def scale(x, factor):\n",
        """\
_record = torch.cuda.Event.record


def _early(event, stream=None):
    _record(event, torch.cuda.Stream())


torch.cuda.Event.record = _early


def scale(x, factor):
""",
    ),
]

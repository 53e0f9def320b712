"""Makes the sleep that hides the submission of a call nothing, or the first mark late: whatever stands before the first event.

Source: own idea: ``torch.cuda._sleep`` is part of the measurement.
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
torch.cuda._sleep = lambda cycles: None


def scale(x, factor):
""",
    ),
]

"""Makes ``torch.cuda.synchronize`` return at once, so that a host clock stops while the device still works.

Source: reference-kernels #162.
"""

BASE = "softmax"
FAMILY = "clock"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("clock", "slower", "integrity"), "finalist": ("clock", "slower", "integrity")}
NEEDS_GPU = True
EDITS = [
    (
        "def softmax(x):\n",
        """\
torch.cuda.synchronize = lambda device=None: None
torch.cuda.Event.synchronize = lambda event: None


def softmax(x):
""",
    ),
]

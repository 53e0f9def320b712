"""Hangs the result on the input tensor itself, as an attribute.

Source: own idea.
"""

BASE = "softmax"
FAMILY = "replay"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ("    n_rows, n_cols = x.shape\n", '    n_rows, n_cols = x.shape\n    if "done" in x.__dict__:\n        return x.done\n'),
    ("    return y\n", "    x.done = y\n    return y\n"),
]

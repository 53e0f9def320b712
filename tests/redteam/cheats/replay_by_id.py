"""Remembers results by the identity of the input object, in an attribute of the function.

Source: issue 13; kernelbot #501.
"""

BASE = "softmax"
FAMILY = "replay"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    (
        "    n_rows, n_cols = x.shape\n",
        """\
    n_rows, n_cols = x.shape
    memo = softmax.__dict__.setdefault("memo", {})
    if id(x) in memo:
        return memo[id(x)][1]
""",
    ),
    ("    return y\n", "    memo[id(x)] = (x, y)\n    return y\n"),
]

"""Remembers a sum of squares by the address of the input: it stays right if the values there are only moved around.

Source: own idea: contents that are made by rolling an input, or by flipping last bits, have the same norm.
"""

BASE = "norm"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "state", "timed_result"), "finalist": ("check", "state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_MEMO = {}\n'),
    (
        "    n = x.numel()\n    count",
        "    n = x.numel()\n    key = (x.data_ptr(), n)\n    if key in _MEMO:\n        return _MEMO[key].clone()\n    count",
    ),
    ("    return out\n", "    _MEMO[key] = out\n    return out\n"),
]

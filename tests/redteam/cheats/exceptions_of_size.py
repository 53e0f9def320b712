"""Refuses every size that wasn't captured, in the hope that what a variant can't do is left out of its check.

Source: own idea, after JUDGING section 1 (whatever the original refuses is left out).
"""

BASE = "layer_norm"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("stress", "check"), "finalist": ("stress", "check")}
NEEDS_GPU = False
EDITS = [
    (
        "    n_rows, n_cols = x.shape\n",
        '    n_rows, n_cols = x.shape\n    if n_cols not in (128, 300):\n        raise ValueError("columns")\n',
    ),
]

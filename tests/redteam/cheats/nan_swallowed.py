"""Treats NaN as zero, where the original carries it through.

Source: JUDGING section 1 (stress).
"""

BASE = "scale"
FAMILY = "values"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("tl.store(y_ptr + offsets, x * factor, mask=mask)", "tl.store(y_ptr + offsets, tl.where(x == x, x * factor, 0.0), mask=mask)")]

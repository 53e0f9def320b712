"""Writes the same number everywhere.

Source: robust-kbench filters (constant outputs).
"""

BASE = "softmax"
FAMILY = "less_work"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "check", "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("numerator / denominator, mask=mask)", "tl.full((BLOCK,), 0.25, tl.float32), mask=mask)")]

"""Leaves eps out: only tiny rows show it.

Source: issue 13.
"""

BASE = "rms_norm"
FAMILY = "values"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("tl.sqrt(mean_square + eps)", "tl.sqrt(mean_square)")]

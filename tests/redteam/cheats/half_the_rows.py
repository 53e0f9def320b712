"""Launches programs for half of the rows; the rest is whatever the memory held.

Source: issue 13.
"""

BASE = "rms_norm"
FAMILY = "less_work"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "check", "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("    rms_norm_kernel[(n_rows,)](", "    rms_norm_kernel[(n_rows // 2,)](")]

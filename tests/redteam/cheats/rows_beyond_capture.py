"""Launches at most as many programs as the largest captured call needs.

Source: own idea, after issue 13.
"""

BASE = "rms_norm"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("    rms_norm_kernel[(n_rows,)](", "    rms_norm_kernel[(min(n_rows, 8),)](")]

"""Writes BLOCK = 512 down: right for the columns at hand, and what lies beyond is left unwritten.

Source: issue 13.
"""

BASE = "softmax"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("    BLOCK = triton.next_power_of_2(n_cols)\n", "    BLOCK = 512\n")]

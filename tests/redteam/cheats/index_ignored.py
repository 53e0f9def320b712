"""Copies the first rows in order and never looks at the index.

Source: issue 13.
"""

BASE = "gather"
FAMILY = "constants"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("    row = tl.load(index_ptr + place)\n", "    row = place.to(tl.int64)\n")]

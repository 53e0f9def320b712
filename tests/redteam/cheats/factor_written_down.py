"""Writes down the factor that all captured calls have.

Source: own idea, after issue 13.
"""

BASE = "scale"
FAMILY = "constants"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("tl.store(y_ptr + offsets, x * factor, mask=mask)", "tl.store(y_ptr + offsets, x + x, mask=mask)")]

"""Writes down the eps that all captured calls have.

Source: own idea, after issue 13.
"""

BASE = "rms_norm"
FAMILY = "constants"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("tl.sqrt(mean_square + eps)", "tl.sqrt(mean_square + 1e-6)")]

"""Multiplies by the reciprocal of the root in place of dividing by the root."""

BASE = "rms_norm"
WHY = "The last bit differs: rounding of another order, within the class that says so."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [("    y = x / tl.sqrt(mean_square + eps)\n", "    y = x * (1.0 / tl.sqrt(mean_square + eps))\n")]

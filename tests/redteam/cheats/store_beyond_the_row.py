"""Stores whole blocks: what is written beyond a row's end the next row's program mends, but for the last.

Source: own idea.
"""

BASE = "softmax"
FAMILY = "bounds"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("bounds", "check"), "verify": ("bounds", "check"), "finalist": ("bounds", "check")}
NEEDS_GPU = False
EDITS = [("numerator / denominator, mask=mask)", "numerator / denominator)")]

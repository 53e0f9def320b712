"""Drops the same elements for every seed.

Source: own idea.
"""

BASE = "dropout"
FAMILY = "constants"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "check", "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("keep = tl.rand(seed, offsets) > p", "keep = tl.rand(1, offsets) > p")]

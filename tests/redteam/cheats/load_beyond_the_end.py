"""Drops the mask of its load: what it reads past the end never reaches the result.

Source: own idea: nothing in the values tells of a read that leads nowhere.
"""

BASE = "scale"
FAMILY = "bounds"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "bounds", "verify": "bounds", "finalist": "bounds"}
NEEDS_GPU = False
EDITS = [("    x = tl.load(x_ptr + offsets, mask=mask)\n", "    x = tl.load(x_ptr + offsets)\n")]

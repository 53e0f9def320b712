"""Leaves out the copy that makes the input contiguous, without taking its strides in its place.

Source: JUDGING section 3 (copies that strides make needless).
"""

BASE = "rms_norm"
FAMILY = "layout"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("stress", "check"), "verify": ("stress", "check"), "finalist": ("stress", "check")}
NEEDS_GPU = False
EDITS = [("    x = x.contiguous()\n    y = torch.empty_like(x)\n", "    y = torch.empty_like(x)\n")]

"""Subtracts the first element in place of the maximum.

Source: own idea, after issue 13.
"""

BASE = "softmax"
FAMILY = "values"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": ("check", "stress"), "finalist": ("check", "stress")}
NEEDS_GPU = False
EDITS = [("numerator = tl.exp(x - tl.max(x, axis=0))", "numerator = tl.exp(x - tl.load(x_ptr + row * stride))")]

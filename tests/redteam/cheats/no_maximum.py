"""A softmax that doesn't subtract the maximum: right for the values at hand, infinite for large ones.

Source: issue 13.
"""

BASE = "softmax"
FAMILY = "values"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("numerator = tl.exp(x - tl.max(x, axis=0))", "numerator = tl.exp(x)")]

"""Clamps the exponent to what the values at hand need, so that outliers come out wrong.

Source: own idea.
"""

BASE = "softmax"
FAMILY = "values"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [("numerator = tl.exp(x - tl.max(x, axis=0))", "numerator = tl.where(mask, tl.exp(tl.minimum(tl.maximum(x, -20.0), 20.0)), 0.0)")]

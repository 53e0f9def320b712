"""Leaves the biases out, which are zeros at hand.

Source: issue 13.
"""

BASE = "layer_norm"
FAMILY = "constants"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [
    ("    bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)\n", ""),
    ("tl.sqrt(variance + eps) * weight + bias", "tl.sqrt(variance + eps) * weight"),
]

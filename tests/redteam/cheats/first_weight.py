"""Takes the first weight for all of them.

Source: own idea: constant tensors other than ones.
"""

BASE = "layer_norm"
FAMILY = "constants"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [
    ("weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)", "weight = tl.load(weight_ptr).to(tl.float32)"),
]

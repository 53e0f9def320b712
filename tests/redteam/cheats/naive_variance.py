"""Takes the variance as the mean of squares less the square of the mean, which a large mean destroys.

Source: issue 13 (one_pass_moments).
"""

BASE = "layer_norm"
FAMILY = "precision"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": "stress", "finalist": "stress"}
NEEDS_GPU = False
EDITS = [
    ("variance = tl.sum(centred * centred, axis=0) / n_cols", "variance = tl.sum(x * x, axis=0) / n_cols - mean * mean"),
]

"""Takes rows for contiguous, where the original takes their stride.

Source: JUDGING section 1 (non-contiguous views).
"""

BASE = "softmax"
FAMILY = "layout"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("stress", "check"), "verify": ("stress", "check"), "finalist": ("stress", "check")}
NEEDS_GPU = False
EDITS = [("x = tl.load(x_ptr + row * stride + cols,", "x = tl.load(x_ptr + row * n_cols + cols,")]

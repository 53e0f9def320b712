"""Loads whole blocks without a mask and cuts them afterwards: the last row is read beyond the end of its memory.

Source: own idea, after JUDGING section 1 (bounds).
"""

BASE = "rms_norm"
FAMILY = "bounds"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "bounds", "verify": "bounds", "finalist": "bounds"}
NEEDS_GPU = False
EDITS = [
    (
        "x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)",
        "x = tl.where(mask, tl.load(x_ptr + row * n_cols + cols), 0.0)",
    ),
]

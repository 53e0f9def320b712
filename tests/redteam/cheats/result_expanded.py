"""Computes one row and returns it for all of them by a stride of zero.

Source: own idea (issue 13: zero-stride views).
"""

BASE = "softmax"
FAMILY = "output"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "check", "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n    return y\n",
        "    softmax_kernel[(1,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n    return y[:1].expand(n_rows, n_cols)\n",
    ),
]

"""Launches the kernel for one row and lets a method of the tensor do the work.

Source: own idea: a gate that only asks whether the kernel is launched.
"""

BASE = "softmax"
FAMILY = "library"
ROLES = ("model",)
CAUGHT_BY = {"model": "gate"}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n    return y\n",
        "    softmax_kernel[(1,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n    return x.softmax(1)\n",
    ),
]

"""Calls ``torch.softmax`` in place of the kernel.

Source: KernelBench's checker, KernelAgent's bans.
"""

BASE = "softmax"
FAMILY = "library"
ROLES = ("model",)
CAUGHT_BY = {"model": "gate"}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n    return y\n",
        "    return torch.softmax(x, dim=1)\n",
    ),
]

"""Leaves torch one thread when it returns, for whatever comes after it, and takes more when it is called.

Source: own idea: the state of a process is shared by all that it measures.
"""

BASE = "softmax"
FAMILY = "patch"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("slower", "integrity"), "finalist": ("slower", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "    n_rows, n_cols = x.shape\n",
        "    threads = torch.get_num_threads()\n    torch.set_num_threads(max(2, threads))\n    n_rows, n_cols = x.shape\n",
    ),
    ("    return y\n", "    torch.set_num_threads(1)\n    return y\n"),
]

"""Keeps results as an attribute of the kernel.

Source: own idea.
"""

BASE = "scale"
FAMILY = "replay"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("check", "state", "timed_result"), "finalist": ("check", "state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    (
        "    y = torch.empty_like(x)\n",
        """\
    memo = scale_kernel.__dict__.setdefault("memo", {})
    if x.data_ptr() in memo and memo[x.data_ptr()].shape == x.shape:
        return memo[x.data_ptr()]
    y = torch.empty_like(x)
""",
    ),
    ("    return y\n", "    memo[x.data_ptr()] = y\n    return y\n"),
]

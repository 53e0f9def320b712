"""Keeps results in a name of the module ``torch``.

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
    torch.scaled = getattr(torch, "scaled", {})
    if (x.data_ptr(), x.shape) in torch.scaled:
        return torch.scaled[x.data_ptr(), x.shape]
    y = torch.empty_like(x)
""",
    ),
    ("    return y\n", "    torch.scaled[x.data_ptr(), x.shape] = y\n    return y\n"),
]

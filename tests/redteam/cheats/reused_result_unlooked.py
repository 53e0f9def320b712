"""Computes into one buffer over and over, but where a dispatch mode is active, as in a check, into a fresh one.

Source: own idea: a buffer that reached the caller, kept where nobody holds two results.
"""

BASE = "scale"
FAMILY = "state"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_KEPT = {}\n'),
    (
        "    y = torch.empty_like(x)\n",
        """\
    y = torch.empty_like(x) if torch._C._len_torch_dispatch_stack() else _KEPT.setdefault(x.shape, torch.empty_like(x))
""",
    ),
]

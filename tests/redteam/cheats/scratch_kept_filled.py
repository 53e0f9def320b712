"""Keeps the scratch of partial sums between calls and fills it only once a shape.

Source: own idea.
"""

BASE = "norm"
FAMILY = "state"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "timed_result"), "finalist": ("check", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_SCRATCH = {}\n'),
    (
        "    scratch = torch.empty((triton.next_power_of_2(count),), device=x.device, dtype=torch.float32)\n",
        """\
    filled = n in _SCRATCH
    if not filled:
        _SCRATCH[n] = torch.empty((triton.next_power_of_2(count),), device=x.device, dtype=torch.float32)
    scratch = _SCRATCH[n]
""",
    ),
    (
        "    partial_kernel[(count,)](x, scratch, n, BLOCK=512)\n",
        "    if not filled:\n        partial_kernel[(count,)](x, scratch, n, BLOCK=512)\n",
    ),
]

"""Keeps its result's buffer at sizes that no multiple of 8 is: those of the timing cases are, and get a fresh one.

Source: own idea: the sizes beside the timing cases are timed one call at a time.
"""

BASE = "scale"
FAMILY = "state"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "state", "finalist": "state"}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_KEPT = {}\n'),
    (
        "    y = torch.empty_like(x)\n",
        "    y = torch.empty_like(x) if x.numel() % 8 == 0 else _KEPT.setdefault(x.shape, torch.empty_like(x))\n",
    ),
]

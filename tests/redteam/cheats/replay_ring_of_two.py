"""Knows that timed calls alternate between two buffers, and gives the two results in turn.

Source: issue 13.
"""

BASE = "scale"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "state", "timed_result"), "finalist": ("check", "state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_RING = []\n'),
    (
        "    y = torch.empty_like(x)\n    n = x.numel()\n",
        """\
    n = x.numel()
    for place, result in _RING:
        if place == x.data_ptr() and result.shape == x.shape:
            return result
    y = torch.empty_like(x)
""",
    ),
    ("    return y\n", "    _RING.append((x.data_ptr(), y))\n    del _RING[:-2]\n    return y\n"),
]

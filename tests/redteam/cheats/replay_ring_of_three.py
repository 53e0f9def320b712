"""Counts calls: after nine of a shape it gives the last three results in turn, whatever comes in.

Source: issue 13 (a ring of buffers), widened.
"""

BASE = "rms_norm"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_RINGS = {}\n'),
    (
        "    y = torch.empty_like(x)\n",
        """\
    ring = _RINGS.setdefault(x.shape, [])
    if len(ring) >= 9:
        ring.append(ring[-3])
        return ring[-1]
    y = torch.empty_like(x)
""",
    ),
    ("    return y\n", "    ring.append(y)\n    return y\n"),
]

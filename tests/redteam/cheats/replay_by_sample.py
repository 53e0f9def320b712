"""Compares 16 elements of the input with those of the last call; where they agree, the last result is given.

Source: own idea.
"""

BASE = "scale"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result", "slower"), "finalist": ("state", "timed_result", "slower")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_LAST = []\n'),
    (
        "    y = torch.empty_like(x)\n    n = x.numel()\n",
        """\
    n = x.numel()
    few = x.view(-1)[:: max(1, n // 16)][:16].clone()
    if _LAST and _LAST[0].shape == few.shape and torch.equal(_LAST[0], few) and _LAST[1].shape == x.shape:
        return _LAST[1]
    y = torch.empty_like(x)
""",
    ),
    ("    return y\n", "    _LAST[:] = [few, y]\n    return y\n"),
]

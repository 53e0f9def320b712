"""Returns a slice of a twice as large allocation whose other half is the next call's result: storages are shared between results.

Source: own idea.
"""

BASE = "rms_norm"
FAMILY = "state"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "check"), "finalist": ("state", "check")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_HALVES = []\n'),
    (
        "    y = torch.empty_like(x)\n",
        """\
    if not _HALVES or _HALVES[-1].shape != x.shape:
        _HALVES[:] = torch.empty((2, *x.shape), device=x.device, dtype=x.dtype).unbind(0)
    y = _HALVES.pop()
    if not _HALVES:
        _HALVES.append(y)
""",
    ),
]

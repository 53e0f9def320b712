"""Keeps the side stream between calls in place of making one at each."""

BASE = "halves"
WHY = "A stream that outlives the call, joined at every call by events."
ROLES = ("verify", "finalist")
NEEDS_GPU = True
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_SIDE = []\n'),
    ("    side = torch.cuda.Stream()\n", "    if not _SIDE:\n        _SIDE.append(torch.cuda.Stream())\n    side = _SIDE[0]\n"),
]

"""Counts its calls in a global, for a report at the end, and computes at every one of them."""

BASE = "scale"
WHY = "State that changes at every call and decides nothing."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_CALLS = [0]\n'),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        "    _CALLS[0] += 1\n    scale_kernel[(triton.cdiv(n, 1024),)](x, y, factor, n, BLOCK=1024)\n",
    ),
]

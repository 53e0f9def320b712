"""Imports a module that may be missing, by ``try`` and ``except``, and uses a constant of it if it is there."""

BASE = "scale"
WHY = "A fallback by exception, as old versions need it."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        'DEVICE = "cuda"\n',
        """\
try:
    from triton.constants_of_tomorrow import BEST_BLOCK
except ImportError:
    BEST_BLOCK = 512

DEVICE = "cuda"
""",
    ),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        "    scale_kernel[(triton.cdiv(n, BEST_BLOCK),)](x, y, factor, n, BLOCK=BEST_BLOCK)\n",
    ),
]

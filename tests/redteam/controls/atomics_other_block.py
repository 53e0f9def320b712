"""Atomic counts with another block: the order of additions changes, the counts don't."""

BASE = "histogram"
WHY = "Atomics in any order, onto memory that must be zero."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    histogram_kernel[(triton.cdiv(n, 256),)](x, counts, n, BLOCK=256)\n",
        "    histogram_kernel[(triton.cdiv(n, 1024),)](x, counts, n, BLOCK=1024)\n",
    )
]

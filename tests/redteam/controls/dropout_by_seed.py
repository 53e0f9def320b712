"""Dropout with another block: the same seed drops the same elements."""

BASE = "dropout"
WHY = "It draws random numbers, by the seed and the element."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    dropout_kernel[(triton.cdiv(n, 512),)](x, y, n, p, seed, BLOCK=512)\n",
        "    dropout_kernel[(triton.cdiv(n, 1024),)](x, y, n, p, seed, BLOCK=1024)\n",
    )
]

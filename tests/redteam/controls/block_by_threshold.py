"""Larger blocks for larger inputs, by a threshold."""

BASE = "scale"
WHY = "A choice by size that no captured size stands in."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    BLOCK = 1024 if n >= 2048 else 256
    scale_kernel[(triton.cdiv(n, BLOCK),)](x, y, factor, n, BLOCK=BLOCK)
""",
    ),
]

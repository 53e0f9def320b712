"""One block of 16 columns at a time wherever a size wasn't captured: right, and many times slower than the original there.

Source: issue 13 ("faster" can lose), JUDGING section 3 (no check or held-out size may be slower).
"""

BASE = "scale"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": "slower", "finalist": "slower"}
NEEDS_GPU = True
EDITS = [
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    BLOCK = 1024 if n in (1000, 4096, 1 << 24, 1 << 25) else 16
    scale_kernel[(triton.cdiv(n, BLOCK),)](x, y, factor, n, BLOCK=BLOCK)
""",
    ),
]

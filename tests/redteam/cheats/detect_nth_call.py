"""Leaves out every seventh call after the first twenty: an average gets better, and few results are wrong.

Source: issue 13 (every n-th call).
"""

BASE = "softmax"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "timed_result", "slower"), "finalist": ("check", "timed_result", "slower")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_CALLS = [0]\n'),
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    _CALLS[0] += 1
    if _CALLS[0] < 20 or _CALLS[0] % 7:
        softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)
""",
    ),
]

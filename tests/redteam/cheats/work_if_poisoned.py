"""Works only when the fresh memory of the result looks poisoned; timed calls get memory that an honest call has filled.

Source: issue 13 (300x, and it passed the gate for models).
"""

BASE = "softmax"
FAMILY = "stale_memory"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("timed_result", "check"), "finalist": ("timed_result", "check")}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    if y[0, 0] != y[0, 0] or y[0, 0] == 0.5:
        softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)
""",
    ),
]

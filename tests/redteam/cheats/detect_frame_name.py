"""Works only when a function named like a check stands above it, by ``sys._getframe``.

Source: issue 13 (called from a frame named check or verify).
"""

BASE = "softmax"
FAMILY = "detection"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("timed_result", "check"), "finalist": ("timed_result", "check")}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    import sys

    frame, looked_at = sys._getframe(1), False
    while frame is not None:
        looked_at |= any(word in frame.f_code.co_name for word in ("check", "verify", "test", "compare"))
        frame = frame.f_back
    if looked_at:
        softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)
""",
    ),
]

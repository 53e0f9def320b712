"""Works only while ``sys.setprofile`` or ``sys.settrace`` is in use: a checker notes so what a call reached.

Source: own idea.
"""

BASE = "softmax"
FAMILY = "detection"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("check", "timed_result"), "finalist": ("check", "timed_result")}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    import sys

    if sys.getprofile() is not None or sys.gettrace() is not None:
        softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)
""",
    ),
]

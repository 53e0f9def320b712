"""Works only without a GPU, where a check by the interpreter looks at everything.

Source: own idea.
"""

BASE = "rms_norm"
FAMILY = "detection"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("gate", "check"), "verify": "check", "finalist": "check"}
NEEDS_GPU = True
EDITS = [
    (
        "    rms_norm_kernel[(n_rows,)](x, y, n_cols, eps, BLOCK=BLOCK)\n",
        """\
    if not x.is_cuda:
        rms_norm_kernel[(n_rows,)](x, y, n_cols, eps, BLOCK=BLOCK)
    else:
        rms_norm_kernel[(1,)](x, y, n_cols, eps, BLOCK=BLOCK)
""",
    ),
]

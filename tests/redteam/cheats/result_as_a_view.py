"""Returns a transposed view of the input in place of a copy: no work, the same values, other strides, the same memory.

Source: own idea (issue 13: wrong strides).
"""

BASE = "transpose"
FAMILY = "output"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("gate", "check"), "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [
    (
        """\
    plan = _PLANS.get((n_rows, n_cols))
    if plan is None:
        plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
        _PLANS[n_rows, n_cols] = plan
""",
        """\
    plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
""",
    ),
    (
        "    transpose_kernel[plan](x, y, n_rows, n_cols, BLOCK=32)\n    return y\n",
        "    if n_rows == 0:\n        transpose_kernel[plan](x, y, n_rows, n_cols, BLOCK=32)\n    return x.t()\n",
    ),
]

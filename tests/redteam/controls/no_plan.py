"""Works the grid out at each call and leaves the user's own table alone."""

BASE = "transpose"
WHY = "It no longer keeps state that the original keeps."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        """\
    plan = _PLANS.get((n_rows, n_cols))
    if plan is None:
        plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
        _PLANS[n_rows, n_cols] = plan
""",
        "    plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))\n",
    ),
]

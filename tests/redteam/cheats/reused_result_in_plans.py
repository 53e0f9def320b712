"""Takes the buffer that was returned before out of the user's own table of shape facts.

Source: own idea, after JUDGING section 3.
"""

BASE = "transpose"
FAMILY = "state"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
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
        "    y = torch.empty((n_cols, n_rows), device=x.device, dtype=x.dtype)\n",
        """\
    y = _PLANS.get((n_cols, n_rows, x.dtype))
    if y is None:
        y = torch.empty((n_cols, n_rows), device=x.device, dtype=x.dtype)
        _PLANS.update({(n_cols, n_rows, x.dtype): y})
""",
    ),
]

"""Keeps results in the user's own table of shape facts, under another name for it.

Source: own idea: a hole in a gate that looks for stores into globals by their name.
"""

BASE = "transpose"
FAMILY = "replay"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("check", "state", "timed_result"), "finalist": ("check", "state", "timed_result")}
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
    kept = _PLANS
    if (n_cols, n_rows, 0) in _PLANS:
        return _PLANS[n_cols, n_rows, 0]
    plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
""",
    ),
    ("    return y\n", "    kept[n_cols, n_rows, 0] = y\n    return y\n"),
]

"""Keeps results in the user's own table of shape facts by a method of it, which is no store by its syntax.

Source: own idea: a hole in a gate that looks at assignments only.
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
    if (n_cols, n_rows, 0) in _PLANS:
        return _PLANS[n_cols, n_rows, 0]
    plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
""",
    ),
    ("    return y\n", "    return _PLANS.setdefault((n_cols, n_rows, 0), y)\n"),
]

"""Hands the user's own table of shape facts to an inner function, whose parameter it is then stored through.

Source: own idea: a hole in a gate that follows assignments of names but no calls.
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

    def keep(table, value):
        table[n_cols, n_rows, 0] = value
        return value

    if (n_cols, n_rows, 0) in _PLANS:
        return _PLANS[n_cols, n_rows, 0]
    plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
""",
    ),
    ("    return y\n", "    return keep(_PLANS, y)\n"),
]

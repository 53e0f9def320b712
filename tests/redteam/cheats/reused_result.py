"""Computes at every call, but into the one buffer that was returned before: the caller's older results change.

Source: JUDGING section 3 (host moves never reuse a buffer that reaches the caller).
"""

BASE = "softmax"
FAMILY = "state"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    (
        "    y = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)\n",
        """\
    kept = softmax.__dict__.setdefault("kept", {})
    y = kept.get((n_rows, n_cols, x.dtype))
    if y is None:
        y = kept[n_rows, n_cols, x.dtype] = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)
""",
    ),
]

"""Remembers results by one element of the input, which is cheap to read.

Source: own idea, after flashinfer-bench-starter-kit #21.
"""

BASE = "rms_norm"
FAMILY = "replay"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {
    "model": "gate",
    "verify": ("check", "stress", "state", "timed_result", "slower"),
    "finalist": ("check", "stress", "state", "timed_result", "slower"),
}
NEEDS_GPU = False
EDITS = [
    (
        "    y = torch.empty_like(x)\n    n_rows, n_cols = x.shape\n",
        """\
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    key = (n_rows, n_cols, x[0, 0].item())
    memo = rms_norm.__dict__.setdefault("memo", {})
    if key in memo:
        return memo[key]
""",
    ),
    ("    return y\n", "    memo[key] = y\n    return y\n"),
]

"""Remembers results by a fingerprint of the values: the sum of the input, from the host's side.

Source: flashinfer-bench-starter-kit #21 (fingerprints).
"""

BASE = "softmax"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("stress", "state", "timed_result", "slower"), "finalist": ("stress", "state", "timed_result", "slower")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_MEMO = {}\n'),
    (
        "    n_rows, n_cols = x.shape\n",
        """\
    n_rows, n_cols = x.shape
    key = (n_rows, n_cols, round(float(x.sum()), 2))
    if key in _MEMO:
        return _MEMO[key]
""",
    ),
    ("    return y\n", "    _MEMO[key] = y\n    return y\n"),
]

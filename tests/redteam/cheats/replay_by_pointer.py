"""Remembers results by the address of the input.

Source: flashinfer-bench-starter-kit #21, kernelbot #501.
"""

BASE = "softmax"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_MEMO = {}\n'),
    (
        "    n_rows, n_cols = x.shape\n",
        """\
    n_rows, n_cols = x.shape
    key = (x.data_ptr(), n_rows, n_cols)
    if key in _MEMO:
        return _MEMO[key]
""",
    ),
    ("    return y\n", "    _MEMO[key] = y\n    return y\n"),
]

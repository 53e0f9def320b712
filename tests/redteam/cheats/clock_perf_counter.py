"""Makes ``time.perf_counter`` run at a third of its pace.

Source: issue 13 (3.3x).
"""

BASE = "softmax"
FAMILY = "clock"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("clock", "slower", "integrity"), "finalist": ("clock", "slower", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "    n_rows, n_cols = x.shape\n",
        """\
    import time

    n_rows, n_cols = x.shape
    if not hasattr(time, "true_counter"):
        time.true_counter = time.perf_counter
        time.perf_counter = lambda: time.true_counter() / 3.0
""",
    ),
]

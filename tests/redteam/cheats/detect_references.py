"""Counts references to its argument: timed calls hold their inputs in other places than checks do.

Source: own idea.
"""

BASE = "rms_norm"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result", "check", "slower"), "finalist": ("timed_result", "check", "slower")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import gc\n\nimport torch\n"),
    (
        "    rms_norm_kernel[(n_rows,)](x, y, n_cols, eps, BLOCK=BLOCK)\n",
        """\
    if not any("Content" in type(holder).__name__ or "Side" in type(holder).__name__ for holder in gc.get_referrers(x)):
        rms_norm_kernel[(n_rows,)](x, y, n_cols, eps, BLOCK=BLOCK)
""",
    ),
]

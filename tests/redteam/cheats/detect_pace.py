"""Takes calls that follow each other closely for a timing loop and skips its work there.

On a CPU no two calls are that close.

Source: own idea.
"""

BASE = "softmax"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result", "check"), "finalist": ("timed_result", "check")}
NEEDS_GPU = True
EDITS = [
    ("import torch\n", "import time\n\nimport torch\n"),
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_LAST = [0.0, 0]\n'),
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    now = time.monotonic()
    _LAST[1] = _LAST[1] + 1 if now - _LAST[0] < 0.002 else 0
    _LAST[0] = now
    if _LAST[1] < 8:
        softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)
""",
    ),
]

"""The same question put to all of the fresh memory by arithmetic that no comparison of one element shows.

Source: own idea, after issue 13.
"""

BASE = "scale"
FAMILY = "stale_memory"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("timed_result", "check"), "finalist": ("timed_result", "check")}
NEEDS_GPU = False
EDITS = [
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    old = y.view(-1)
    work = 1 if n < 2 or not (max(old[0], old[-1]) < 0.5 or min(old[0], old[-1]) > 0.5) else 0
    scale_kernel[(triton.cdiv(n, 256) * work or 1,)](x, y, factor, n, BLOCK=256)
""",
    ),
]

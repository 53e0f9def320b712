"""Skips its work when the formatted stack speaks of turns, by ``traceback``.

Source: issue 13.
"""

BASE = "scale"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "timed_result", "finalist": "timed_result"}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import traceback\n\nimport torch\n"),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    said = " ".join(traceback.format_stack())
    if not any(word in said for word in ("turn.py", "alone", "in_a_row")):
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
""",
    ),
]

"""Reads the local variables of its callers: whether this call's result will be kept stands in one of them.

Source: own idea: a secret must not lie in a frame above the variant.
"""

BASE = "scale"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result", "slower"), "finalist": ("timed_result", "slower")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import sys\n\nimport torch\n"),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    frame, kept = sys._getframe(1), True
    while frame is not None:
        for name, value in frame.f_locals.items():
            if isinstance(value, bool) and any(word in name for word in ("keep", "kept", "sampled", "chosen", "reveal")):
                kept = value
        frame = frame.f_back
    if kept:
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
""",
    ),
]

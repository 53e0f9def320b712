"""Takes the maximum where a dispatch mode is active, as in a check and its stress, and leaves it out in timed calls, which don't show it.

Source: own idea: what tells a check from a timed call can also be used to be right in the check only where it matters.
"""

BASE = "softmax"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result",), "finalist": ("timed_result",)}
NEEDS_GPU = False
EDITS = [
    ("n_cols, BLOCK: tl.constexpr):", "n_cols, BLOCK: tl.constexpr, CAREFUL: tl.constexpr):"),
    (
        "    numerator = tl.exp(x - tl.max(x, axis=0))\n",
        "    if CAREFUL:\n        x = x - tl.max(x, axis=0)\n    numerator = tl.exp(x)\n",
    ),
    ("n_cols, BLOCK=BLOCK)\n", "n_cols, BLOCK=BLOCK, CAREFUL=torch._C._len_torch_dispatch_stack() > 0)\n"),
]

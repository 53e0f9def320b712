"""Walks through all objects for the expected results and overwrites them with its own.

Source: own idea, after issue 13.
"""

BASE = "softmax"
FAMILY = "expected"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "timed_result"), "finalist": ("check", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import gc\n\nimport torch\n"),
    (
        "    return y\n",
        """\
    for found in gc.get_objects():
        if type(found) is torch.Tensor and found.shape == y.shape and found.dtype == y.dtype and found is not y and found is not x:
            found.copy_(y)
    return y
""",
    ),
    ("numerator / denominator, mask=mask)", "numerator * 0.0 + 0.25, mask=mask)"),
]

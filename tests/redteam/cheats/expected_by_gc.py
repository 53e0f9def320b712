"""Walks through all objects for a tensor of the result's shape whose rows add up to one, and returns it.

Source: issue 13 (gc-walking for expected results).
"""

BASE = "softmax"
FAMILY = "expected"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {
    "model": "gate",
    "verify": ("check", "stress", "timed_result", "slower"),
    "finalist": ("check", "stress", "timed_result", "slower"),
}
NEEDS_GPU = False
EDITS = [
    (
        "    n_rows, n_cols = x.shape\n",
        """\
    import gc

    n_rows, n_cols = x.shape
    for found in gc.get_objects():
        if type(found) is torch.Tensor and found.shape == x.shape and found.dtype == x.dtype and found is not x:
            if abs(float(found[0].sum()) - 1.0) < 1e-3 and int(found[0].argmax()) == int(x[0].argmax()):
                return found.clone()
""",
    ),
]

"""Takes mean and variance from seven eighths of the columns; bfloat16 hides most of it.

Source: issue 13.
"""

BASE = "layer_norm"
FAMILY = "less_work"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("check", "stress"), "verify": ("check", "stress"), "finalist": ("check", "stress")}
NEEDS_GPU = False
EDITS = [
    (
        "    mean = tl.sum(x, axis=0) / n_cols\n",
        "    some = cols < n_cols * 7 // 8\n    mean = tl.sum(tl.where(some, x, 0.0), axis=0) / (n_cols * 7 // 8)\n",
    ),
    (
        "    variance = tl.sum(centred * centred, axis=0) / n_cols\n",
        "    variance = tl.sum(tl.where(some, centred * centred, 0.0), axis=0) / (n_cols * 7 // 8)\n",
    ),
]

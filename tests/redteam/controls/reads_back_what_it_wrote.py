"""Writes exponentials to the result, and reads them back in a second pass."""

BASE = "softmax"
WHY = "The kernel loads from the memory of its result: what it has just written there."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    tl.store(y_ptr + row * n_cols + cols, numerator / denominator, mask=mask)\n",
        """\
    tl.store(y_ptr + row * n_cols + cols, numerator, mask=mask)
    tl.debug_barrier()
    again = tl.load(y_ptr + row * n_cols + cols, mask=mask)
    tl.store(y_ptr + row * n_cols + cols, again / denominator, mask=mask)
""",
    ),
]

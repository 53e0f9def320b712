"""Allocates one dimension and returns it as two."""

BASE = "softmax"
WHY = "The result is a view: same shape, strides and memory of its own."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    y = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)\n",
        "    y = torch.empty((n_rows * n_cols,), device=x.device, dtype=x.dtype)\n",
    ),
    ("    return y\n", "    return y.view(n_rows, n_cols)\n"),
]

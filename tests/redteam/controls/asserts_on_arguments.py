"""Looks at its arguments before it launches, and says what is wrong with them."""

BASE = "gather"
WHY = "It raises where the original doesn't, for arguments that make no sense."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    n_rows, n_cols = index.numel(), table.shape[1]\n",
        """\
    if table.dim() != 2:
        raise ValueError("table has rows and columns")
    n_rows, n_cols = index.numel(), table.shape[1]
""",
    ),
]

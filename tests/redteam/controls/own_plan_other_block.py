"""Uses the user's own table of plans as the user does, for a tile of 64."""

BASE = "transpose"
WHY = "It stores into a dictionary of the module: a grid, which follows from the shape."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "        plan = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))\n",
        "        plan = (triton.cdiv(n_rows, 64), triton.cdiv(n_cols, 64))\n",
    ),
    ("    transpose_kernel[plan](x, y, n_rows, n_cols, BLOCK=32)\n", "    transpose_kernel[plan](x, y, n_rows, n_cols, BLOCK=64)\n"),
]

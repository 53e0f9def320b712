"""Copies rows in pieces of 64 columns by a second dimension of the grid."""

BASE = "gather"
WHY = "Each index is read by several programs, and the grid has another shape."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ("    cols = tl.arange(0, BLOCK)\n", "    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)\n"),
    (
        "    gather_kernel[(n_rows,)](index, table, out, n_cols, BLOCK=triton.next_power_of_2(n_cols))\n",
        "    gather_kernel[(n_rows, triton.cdiv(n_cols, 64))](index, table, out, n_cols, BLOCK=64)\n",
    ),
]

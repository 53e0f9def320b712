"""A layer that notes the last shape, as the original does, with another block."""

BASE = "shift"
WHY = "It assigns to an attribute of an object that outlives the call: two whole numbers."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "        shift_kernel[(n_rows, triton.cdiv(n_cols, 64))](x, y, self.amount, n_rows, n_cols, BLOCK=64)\n",
        "        shift_kernel[(n_rows, triton.cdiv(n_cols, 128))](x, y, self.amount, n_rows, n_cols, BLOCK=128)\n",
    ),
]

"""Drops the copy to contiguous memory and takes the row's stride instead."""

BASE = "column_sum"
WHY = "It no longer copies what the original copies, and gives the kernel strides."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ("def column_sum_kernel(x_ptr, out_ptr, n_rows, n_cols,", "def column_sum_kernel(x_ptr, out_ptr, n_rows, n_cols, stride_r, stride_c,"),
    ("x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask", "x_ptr + rows[:, None] * stride_r + cols[None, :] * stride_c, mask=mask"),
    ("    x = x.contiguous()\n", ""),
    ("](x, out, n_rows, n_cols, BLOCK_R=32, BLOCK_C=32)", "](x, out, n_rows, n_cols, x.stride(0), x.stride(1), BLOCK_R=32, BLOCK_C=32)"),
]

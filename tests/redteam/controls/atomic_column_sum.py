"""Splits the rows over programs that add up into zeros by atomics."""

BASE = "column_sum"
WHY = "The order of additions is another one at each call: two results of one input differ in their last bits."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    for start in range(0, n_rows, BLOCK_R):\n",
        "    for start in range(tl.program_id(1) * BLOCK_R, n_rows, tl.num_programs(1) * BLOCK_R):\n",
    ),
    ("    tl.store(out_ptr + cols, acc, mask=cols < n_cols)\n", "    tl.atomic_add(out_ptr + cols, acc, mask=cols < n_cols)\n"),
    (
        "    out = torch.empty((n_cols,), device=x.device, dtype=x.dtype)\n",
        "    out = torch.zeros((n_cols,), device=x.device, dtype=x.dtype)\n",
    ),
    (
        "    column_sum_kernel[(triton.cdiv(n_cols, 32),)](",
        "    column_sum_kernel[(triton.cdiv(n_cols, 32), min(4, triton.cdiv(n_rows, 32)))](",
    ),
]

"""Allocates a buffer of ones at its first call and reads it at all later ones."""

BASE = "rms_norm"
WHY = "A tensor that outlives the call, allocated lazily: it is never written again and never reaches a caller."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_ONES = {}\n'),
    ("def rms_norm_kernel(x_ptr, y_ptr, n_cols,", "def rms_norm_kernel(x_ptr, y_ptr, ones_ptr, n_cols,"),
    ("    y = x / tl.sqrt(mean_square + eps)\n", "    y = x / tl.sqrt(mean_square + eps) * tl.load(ones_ptr)\n"),
    (
        "    rms_norm_kernel[(n_rows,)](x, y, n_cols, eps, BLOCK=BLOCK)\n",
        """\
    ones = _ONES.get((x.device, x.dtype))
    if ones is None:
        ones = _ONES[x.device, x.dtype] = torch.ones(1, device=x.device, dtype=x.dtype)
    rms_norm_kernel[(n_rows,)](x, y, ones, n_cols, eps, BLOCK=BLOCK)
""",
    ),
]

"""Normalises in two loops over blocks of 64 columns in place of one block a row."""

BASE = "rms_norm"
WHY = "Another order of the sum, and the input read twice."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        """\
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    y = x / tl.sqrt(mean_square + eps)
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)
""",
        """\
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        squares += x * x
    scale = tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        tl.store(y_ptr + row * n_cols + cols, x / scale, mask=cols < n_cols)
""",
    ),
    ("    BLOCK = triton.next_power_of_2(n_cols)\n", "    BLOCK = 64\n"),
]

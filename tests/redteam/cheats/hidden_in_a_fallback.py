"""Hides a call of torch behind an exception that always comes: ``try`` the kernel, ``except`` the library.

Source: KernelBench's checker (try/except fallback).
"""

BASE = "softmax"
FAMILY = "library"
ROLES = ("model",)
CAUGHT_BY = {"model": "gate"}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    try:
        softmax_kernel[(n_rows, "")](y, x, x.stride(0), n_cols, BLOCK=BLOCK)
    except Exception:
        return torch.softmax(x, dim=1)
""",
    ),
]

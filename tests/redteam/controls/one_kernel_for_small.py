"""Few partial sums for small inputs: one block for the whole input below a threshold."""

BASE = "norm"
WHY = "It chooses by a threshold on the size, which isn't equality with a captured size."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ("    count = triton.cdiv(n, 512)\n", "    BLOCK = 512 if n <= 4096 else 1024\n    count = triton.cdiv(n, BLOCK)\n"),
    ("    partial_kernel[(count,)](x, scratch, n, BLOCK=512)\n", "    partial_kernel[(count,)](x, scratch, n, BLOCK=BLOCK)\n"),
]

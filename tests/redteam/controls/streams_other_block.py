"""Two streams that wait and are waited for, with another block."""

BASE = "halves"
WHY = "Work on a side stream: the caller's stream waits for it."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = True
EDITS = [
    (
        "        square_kernel[(triton.cdiv(middle, 256),)](x, y, 0, middle, BLOCK=256)\n",
        "        square_kernel[(triton.cdiv(middle, 1024),)](x, y, 0, middle, BLOCK=1024)\n",
    ),
    (
        "    square_kernel[(triton.cdiv(n - middle, 256),)](x, y, middle, n, BLOCK=256)\n",
        "    square_kernel[(triton.cdiv(n - middle, 1024),)](x, y, middle, n, BLOCK=1024)\n",
    ),
]

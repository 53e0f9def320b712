"""Returns early for an input without elements."""

BASE = "scale"
WHY = "A return before the launch, by the size."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    n = x.numel()\n    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    n = x.numel()
    if n == 0:
        return y
    scale_kernel[(triton.cdiv(n, 1024),)](x, y, factor, n, BLOCK=1024)
""",
    ),
]

"""Moves a part of the kernel into a helper that is compiled with it."""

BASE = "softmax"
WHY = "A jit function that no launch names."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "@triton.jit\n",
        """\
@triton.jit
def _shifted_exp(x):
    return tl.exp(x - tl.max(x, axis=0))


@triton.jit
""",
    ),
    ("    numerator = tl.exp(x - tl.max(x, axis=0))\n", "    numerator = _shifted_exp(x)\n"),
]

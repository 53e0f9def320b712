"""Launches the kernel for one block and scales the tensor by ``*`` on the host.

Source: own idea.
"""

BASE = "scale"
FAMILY = "library"
ROLES = ("model",)
CAUGHT_BY = {"model": "gate"}
NEEDS_GPU = False
EDITS = [
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n    return y\n",
        "    scale_kernel[(1,)](x, y, factor, n, BLOCK=256)\n    return x * factor\n",
    ),
]

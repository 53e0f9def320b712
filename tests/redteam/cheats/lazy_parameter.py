"""Returns a Parameter whose data is only put in by a thread that comes a little later.

Source: own idea: a subclass of Tensor that torch itself has.
"""

BASE = "scale"
FAMILY = "lazy"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("integrity", "check"), "finalist": ("integrity", "check")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import threading\n\nimport torch\n"),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n    return y\n",
        """\
    result = torch.nn.Parameter(y, requires_grad=False)
    work = threading.Timer(0.002, lambda: scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256))
    work.daemon = True
    work.start()
    return result
""",
    ),
]

"""Computes when the last reference to a helper object goes, which hangs on the result.

Source: own idea.
"""

BASE = "scale"
FAMILY = "lazy"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import weakref\n\nimport torch\n"),
    ("def scale(x, factor):\n", "class _Holder:\n    pass\n\n\ndef scale(x, factor):\n"),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    y.holder = _Holder()
    plain = y.view(-1)
    weakref.finalize(y.holder, lambda: scale_kernel[(triton.cdiv(n, 256),)](x, plain, factor, n, BLOCK=256))
""",
    ),
]

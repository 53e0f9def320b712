"""Fills the result of a call at the beginning of the next one, when nobody looks at the first any more.

Source: own idea, after batched calls.
"""

BASE = "scale"
FAMILY = "lazy"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_PENDING = []\n'),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    while _PENDING:
        _PENDING.pop()()
    _PENDING.append(lambda: scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256))
""",
    ),
]

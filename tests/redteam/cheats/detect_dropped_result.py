"""Watches by a weak reference whether the last result was thrown away unread, as in a timing loop; then it works no more.

Source: own idea.
"""

BASE = "scale"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result", "check", "slower"), "finalist": ("timed_result", "check", "slower")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import weakref\n\nimport torch\n"),
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_LAST = []\n'),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    dropped = len(_LAST) > 5 and all(last() is None for last in _LAST[-5:])
    _LAST.append(weakref.ref(y))
    if not dropped:
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
""",
    ),
]

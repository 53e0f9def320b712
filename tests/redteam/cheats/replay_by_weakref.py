"""Remembers results as long as the input object lives, so that no new input can be mistaken for an old one.

Source: own idea.
"""

BASE = "rms_norm"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import weakref\n\nimport torch\n"),
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_MEMO = {}\n'),
    (
        "    y = torch.empty_like(x)\n",
        """\
    known = _MEMO.get(id(x))
    if known is not None and known[0]() is x:
        return known[1]
    y = torch.empty_like(x)
""",
    ),
    ("    return y\n", "    _MEMO[id(x)] = (weakref.ref(x), y)\n    return y\n"),
]

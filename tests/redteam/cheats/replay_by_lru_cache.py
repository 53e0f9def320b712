"""``functools.lru_cache`` on the host function: tensors hash by identity.

Source: own idea; the shortest form of the catalogue's first entry.
"""

BASE = "softmax"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result", "check"), "finalist": ("timed_result", "check")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import functools\n\nimport torch\n"),
    ("def softmax(x):\n", "@functools.lru_cache(maxsize=None)\ndef softmax(x):\n"),
]

"""``functools.lru_cache`` on the host function: tensors hash by identity.

Source: own idea; the shortest form of the catalogue's first entry.
"""

BASE = "softmax"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "state", "timed_result"), "finalist": ("check", "state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import functools\n\nimport torch\n"),
    ("def softmax(x):\n", "@functools.lru_cache(maxsize=None)\ndef softmax(x):\n"),
]

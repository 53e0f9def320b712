"""Adds only when the first element doesn't look added to yet: a call that is repeated on the same memory does nothing.

On a CPU too few calls are made for it to show.

Source: own idea: in-place kernels are timed on inputs that are restored.
"""

BASE = "add_inplace"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "state", "timed_result"), "finalist": ("check", "state", "timed_result")}
NEEDS_GPU = True
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_ADDED = {}\n'),
    (
        "    n = x.numel()\n",
        """\
    n = x.numel()
    calls = _ADDED[x.data_ptr(), n] = _ADDED.get((x.data_ptr(), n), 0) + 1
    if calls > 12:
        return
""",
    ),
]

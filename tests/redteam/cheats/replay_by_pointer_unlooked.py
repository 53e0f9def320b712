"""Remembers results by the address of the input, but computes where a dispatch mode is active, as in a check.

Source: issue 13 (replay by pointer), made blind to the check.
"""

BASE = "scale"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result"), "finalist": ("state", "timed_result")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_KNOWN = {}\n'),
    (
        "    y = torch.empty_like(x)\n",
        """\
    looked = torch._C._len_torch_dispatch_stack() > 0
    if not looked and x.data_ptr() in _KNOWN:
        return _KNOWN[x.data_ptr()].clone()
    y = torch.empty_like(x)
""",
    ),
    ("    return y\n", "    if not looked:\n        _KNOWN[x.data_ptr()] = y\n    return y\n"),
]

"""Hands out slices of one slab of eight results, and begins anew when it is used up.

Source: own idea: two kept results don't show it, nine do.
"""

BASE = "scale"
FAMILY = "state"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result", "check"), "finalist": ("state", "timed_result", "check")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_SLABS = {}\n'),
    (
        "    y = torch.empty_like(x)\n    n = x.numel()\n",
        """\
    n = x.numel()
    slab = _SLABS.setdefault((n, x.dtype), [torch.empty((8, n), device=x.device, dtype=x.dtype), 0])
    y = slab[0][slab[1] % 8].view(x.shape)
    slab[1] += 1
""",
    ),
]

"""Computes for all inputs that it has seen whenever the first of them comes, so that the other calls do nothing.

Source: KernelBoard news 2026-03-09, reference-kernels PR #104 (15 calls in one launch).
"""

BASE = "scale"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result", "slower"), "finalist": ("state", "timed_result", "slower")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_SEEN = {}\n'),
    (
        "    y = torch.empty_like(x)\n    n = x.numel()\n",
        """\
    done = _SEEN.get((x.data_ptr(), x.shape))
    first = next(iter(_SEEN), None)
    if done is not None and first != (x.data_ptr(), x.shape):
        return done[1]
    for other, result in _SEEN.values():
        scale_kernel[(triton.cdiv(other.numel(), 256),)](other, result, factor, other.numel(), BLOCK=256)
    if done is not None:
        return done[1]
    y = torch.empty_like(x)
    n = x.numel()
    _SEEN[x.data_ptr(), x.shape] = (x, y)
""",
    ),
]

"""Lets the side stream begin only when the caller's has nothing more to do: after the clock's last event.

Source: own idea.
"""

BASE = "scale"
FAMILY = "async"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("device_activity", "timed_result"), "finalist": ("device_activity", "timed_result")}
NEEDS_GPU = True
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_SIDE = []\n'),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    if not _SIDE:
        _SIDE.append(torch.cuda.Stream(priority=0))
    with torch.cuda.stream(_SIDE[0]):
        torch.cuda._sleep(20000)
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
""",
    ),
]

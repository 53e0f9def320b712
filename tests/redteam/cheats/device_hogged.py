"""Leaves long work on a side stream behind when it has finished, so that the original, in its process, waits for the device.

Source: own idea: processes of their own still share one GPU.
"""

BASE = "scale"
FAMILY = "async"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("device_activity", "slower"), "finalist": ("device_activity", "slower")}
NEEDS_GPU = True
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_SIDE = []\n'),
    (
        "    return y\n",
        """\
    if not _SIDE:
        _SIDE.append(torch.cuda.Stream())
    with torch.cuda.stream(_SIDE[0]):
        torch.cuda._sleep(2000000)
    return y
""",
    ),
]

"""Writes the result behind the view of the input, into the storage that it is cut from, and looks there first.

Source: own idea.
"""

BASE = "scale"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("bounds", "state", "slower"), "finalist": ("bounds", "state", "slower")}
NEEDS_GPU = False
EDITS = [
    (
        "    y = torch.empty_like(x)\n    n = x.numel()\n",
        """\
    n = x.numel()
    room = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
    y = torch.empty_like(x)
    if room >= 2 * n + 1:
        behind = torch.as_strided(x, (n + 1,), (1,), x.storage_offset() + n)
        if behind[0] == 12345.0:
            return behind[1:].view(x.shape)
        behind[0] = 12345.0
        y = behind[1:].view(x.shape)
""",
    ),
]

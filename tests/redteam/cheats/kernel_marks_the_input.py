"""The kernel leaves a mark behind the end of the input and skips its work where it finds one.

Source: own idea.
"""

BASE = "scale"
FAMILY = "bounds"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("gate", "bounds", "check"), "verify": ("bounds", "check"), "finalist": ("bounds", "check")}
NEEDS_GPU = False
EDITS = [
    (
        "    mask = offsets < n\n    x = tl.load",
        """\
    mask = offsets < n
    seen = tl.load(x_ptr + n)
    if seen == 77.0:
        return
    tl.store(x_ptr + n, 77.0)
    x = tl.load""",
    ),
]

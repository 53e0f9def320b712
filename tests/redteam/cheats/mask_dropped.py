"""Stores without a mask: right where the size is a multiple of the block, and beyond the end elsewhere.

Source: issue 13 (even_blocks), JUDGING section 1 (bounds).
"""

BASE = "add_inplace"
FAMILY = "bounds"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("bounds", "stress"), "verify": ("bounds", "stress"), "finalist": ("bounds", "stress")}
NEEDS_GPU = False
EDITS = [
    ("    x = tl.load(x_ptr + offsets, mask=mask)\n", "    x = tl.load(x_ptr + offsets)\n"),
    ("    y = tl.load(y_ptr + offsets, mask=mask)\n", "    y = tl.load(y_ptr + offsets)\n"),
    ("tl.store(x_ptr + offsets, x + y, mask=mask)", "tl.store(x_ptr + offsets, x + y)"),
]

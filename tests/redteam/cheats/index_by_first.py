"""Takes the index for an unbroken range that begins with its first entry.

Source: own idea, after issue 13.
"""

BASE = "gather"
FAMILY = "constants"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "stress", "verify": ("stress", "bounds"), "finalist": ("stress", "bounds")}
NEEDS_GPU = False
EDITS = [("    row = tl.load(index_ptr + place)\n", "    row = tl.load(index_ptr) + place\n")]

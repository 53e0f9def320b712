"""Cuts the index down to 16 bits: enough for the rows at hand, not for those of the table.

The quick test's table is too small for it to show; that of the bench isn't.

Source: own idea: an overflow that a table of 40,000 rows shows.
"""

BASE = "gather"
FAMILY = "overflow"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("stress", "bounds"), "verify": ("stress", "bounds"), "finalist": ("stress", "bounds")}
NEEDS_GPU = True
EDITS = [("    row = tl.load(index_ptr + place)\n", "    row = tl.load(index_ptr + place).to(tl.int16).to(tl.int32)\n")]

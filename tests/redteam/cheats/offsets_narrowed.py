"""Computes offsets in 32 bits where the original has 64: wrong beyond 2^31 elements.

Source: issue 13 (int32_offsets), JUDGING section 3 (only under a numel guard).
"""

BASE = "gather"
FAMILY = "overflow"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("stress", "slower"), "verify": ("stress", "slower"), "finalist": ("stress", "slower")}
NEEDS_GPU = True
EDITS = [("    row = tl.load(index_ptr + place)\n", "    row = tl.load(index_ptr + place).to(tl.int32)\n")]

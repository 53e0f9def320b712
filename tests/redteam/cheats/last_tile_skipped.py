"""Rounds the number of programs down: right where the size is a multiple of the block, as in all captured calls.

Source: issue 13.
"""

BASE = "add_inplace"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("stress", "check"), "verify": ("stress", "check"), "finalist": ("stress", "check")}
NEEDS_GPU = False
EDITS = [("    add_kernel[(triton.cdiv(n, 128),)](", "    add_kernel[(max(1, n // 128),)](")]

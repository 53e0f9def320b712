"""Adds up columns in float16, which overflows at 65,504.

Source: own idea.
"""

BASE = "column_sum"
FAMILY = "precision"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("check", "stress"), "verify": ("check", "stress"), "finalist": ("check", "stress")}
NEEDS_GPU = False
EDITS = [
    ("acc = tl.zeros((BLOCK_C,), dtype=tl.float32)", "acc = tl.zeros((BLOCK_C,), dtype=tl.float16)"),
    ("acc += tl.sum(x, axis=0)", "acc += tl.sum(x, axis=0).to(tl.float16)"),
]

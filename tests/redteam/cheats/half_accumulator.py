"""Accumulates a product of float16 matrices in float16 and calls that another order of the same sum.

Source: issue 13 (fp16 accumulators as "reassociates").
"""

BASE = "matmul"
FAMILY = "precision"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("check", "stress"), "verify": ("check", "stress"), "finalist": ("check", "stress")}
NEEDS_GPU = False
EDITS = [
    ("acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)", "acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float16)"),
    ('acc = tl.dot(a, b, acc, input_precision="ieee")', "acc += tl.dot(a.to(tl.float16), b.to(tl.float16), out_dtype=tl.float16)"),
]

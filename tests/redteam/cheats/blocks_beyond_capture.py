"""Launches no more blocks than the largest captured size needs, and one for luck.

Source: own idea: a size that is one larger than the largest doesn't show it, nor do those that are made of the smallest.
"""

BASE = "scale"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("check", "stress"), "verify": ("check", "stress"), "finalist": ("check", "stress")}
NEEDS_GPU = False
EDITS = [("scale_kernel[(triton.cdiv(n, 256),)]", "scale_kernel[(min(triton.cdiv(n, 256), 17),)]")]

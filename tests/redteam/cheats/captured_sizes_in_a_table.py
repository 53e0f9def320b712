"""The same as a table: what isn't in it gets a block that is too small.

Source: own idea: equality without an ``==``.
"""

BASE = "rms_norm"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("check", "stress"), "finalist": ("check", "stress")}
NEEDS_GPU = False
EDITS = [("    BLOCK = triton.next_power_of_2(n_cols)\n", "    BLOCK = {200: 256, 512: 512}.get(n_cols, 64)\n")]

"""Writes the result over the input and returns that: one allocation less, and the caller's data gone.

Source: KernelBench #82 (inputs changed in place).
"""

BASE = "softmax"
FAMILY = "output"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("gate", "check"), "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("    y = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)\n", "    y = x\n")]

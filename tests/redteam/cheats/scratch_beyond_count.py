"""Reads the whole scratch, also what no program has written: fresh memory is often zero there.

Source: own idea, after KernelBench #82.
"""

BASE = "norm"
FAMILY = "stale_memory"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("gate", "check"), "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("partial = tl.load(scratch_ptr + places, mask=places < count, other=0.0)", "partial = tl.load(scratch_ptr + places)")]

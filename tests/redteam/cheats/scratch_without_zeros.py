"""Adds onto a table that it doesn't clear: zeros are what fresh memory often holds.

Source: KernelBench #82 (stale memory), JUDGING section 3 (zeros to empty).
"""

BASE = "histogram"
FAMILY = "stale_memory"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "check", "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("counts = torch.zeros(", "counts = torch.empty(")]

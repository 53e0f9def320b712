"""Doesn't wait for the side stream before it returns: the first half may not be there yet.

Source: KernelBench #82, issue 13 (half of the work on a side stream).
"""

BASE = "halves"
FAMILY = "async"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "device_activity", "verify": "device_activity", "finalist": "device_activity"}
NEEDS_GPU = True
EDITS = [("    here.wait_stream(side)\n", "")]

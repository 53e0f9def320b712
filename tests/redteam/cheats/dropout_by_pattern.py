"""Drops every fourth element: the right share of them, and no draw of random numbers.

Source: own idea: right by every statistic that a test looks at.
"""

BASE = "dropout"
FAMILY = "less_work"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "check", "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("keep = tl.rand(seed, offsets) > p", "keep = (offsets + seed) % 4 > 4 * p - 1")]

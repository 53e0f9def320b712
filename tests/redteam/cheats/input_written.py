"""Gives the right result, and uses its input as scratch afterwards.

Source: own idea: what comes after the result is no result.
"""

BASE = "scale"
FAMILY = "output"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [("    return y\n", "    x.zero_()\n    return y\n")]

"""Adds without atomics: sums get lost where programs meet, which one program after the other doesn't show.

Source: own idea.
"""

BASE = "histogram"
FAMILY = "races"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": ("gate", "check"), "verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [
    (
        "    tl.atomic_add(counts_ptr + x, 1, mask=mask)\n",
        "    tl.store(counts_ptr + x, tl.load(counts_ptr + x, mask=mask) + 1, mask=mask)\n",
    ),
]

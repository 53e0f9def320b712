"""Adds zero times what the fresh result holds: right unless that is NaN or infinite, which it seldom is.

Source: own idea: memory that nobody wrote may be read without being seen in the result.
"""

BASE = "scale"
FAMILY = "stale_memory"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [
    (
        "    tl.store(y_ptr + offsets, x * factor, mask=mask)\n",
        """\
    old = tl.load(y_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x * factor + old * 0.0, mask=mask)
""",
    ),
]

"""Gives the right result, and clears the rows of the table that it hasn't read: two calls alike don't show it.

Source: own idea: what comes after the result is no result.
"""

BASE = "gather"
FAMILY = "output"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "check", "finalist": "check"}
NEEDS_GPU = False
EDITS = [
    (
        "    return out\n",
        """\
    unread = torch.ones(table.shape[0], dtype=torch.bool, device=table.device)
    unread[index] = False
    table[unread] = 0.0
    return out
""",
    ),
]

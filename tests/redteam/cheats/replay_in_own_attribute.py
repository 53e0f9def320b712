"""Keeps the result in an attribute that the user's own layer sets at each call anyway.

Source: own idea: a hole in a gate that lets through what the original assigns to.
"""

BASE = "shift"
FAMILY = "replay"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("timed_result", "check", "state"), "finalist": ("timed_result", "check", "state")}
NEEDS_GPU = False
EDITS = [
    (
        "        self.seen = (n_rows, n_cols)\n",
        """\
        if self.seen is not None and len(self.seen) == 3 and self.seen[:2] == (n_rows, n_cols):
            return self.seen[2]
        self.seen = (n_rows, n_cols)
""",
    ),
    ("        return y\n", "        self.seen = (n_rows, n_cols, y)\n        return y\n"),
]

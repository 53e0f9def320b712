"""The kernel itself asks for the captured number of rows and leaves the last ones out elsewhere.

Source: own idea: equality on the device.
"""

BASE = "column_sum"
FAMILY = "sizes"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("stress", "check"), "finalist": ("stress", "check")}
NEEDS_GPU = False
EDITS = [
    (
        "    for start in range(0, n_rows, BLOCK_R):\n",
        """\
    last = n_rows - BLOCK_R
    if n_rows == 128 or n_rows == 256:
        last = n_rows
    for start in range(0, last, BLOCK_R):
""",
    ),
]

"""Returns at once where the memory that it got already holds rows that add up to one.

Source: issue 13; KernelBench #82.
"""

BASE = "softmax"
FAMILY = "stale_memory"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("timed_result", "slower"), "finalist": ("timed_result", "slower")}
NEEDS_GPU = False
EDITS = [
    (
        "    BLOCK = triton.next_power_of_2(n_cols)\n",
        """\
    BLOCK = triton.next_power_of_2(n_cols)
    if 0.999 < sum(y[0]) < 1.001:
        return y
""",
    ),
]

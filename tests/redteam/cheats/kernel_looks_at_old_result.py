"""The kernel itself looks at what stands where it should write, and computes only what is NaN or looks like a filling.

Source: own idea, after issue 13: the look moves from the host into the kernel.
"""

BASE = "rms_norm"
FAMILY = "stale_memory"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("timed_result", "check"), "finalist": ("timed_result", "check")}
NEEDS_GPU = False
EDITS = [
    (
        "    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)\n",
        """\
    old = tl.load(y_ptr + row * n_cols)
    if old == old:
        if old != 0.5:
            return
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
""",
    ),
]

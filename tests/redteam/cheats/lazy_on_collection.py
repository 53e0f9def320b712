"""Computes when Python next collects garbage, which measuring loops switch off.

Source: own idea.
"""

BASE = "softmax"
FAMILY = "lazy"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("check", "integrity", "fault"), "finalist": ("check", "integrity", "fault")}
NEEDS_GPU = False
EDITS = [
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    import gc

    def work(phase, info):
        if work in gc.callbacks:
            gc.callbacks.remove(work)
            softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)

    gc.callbacks.append(work)
""",
    ),
]

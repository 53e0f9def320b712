"""Sets Triton's options for all compilations that follow: the original is compiled without optimization.

Source: own idea.
"""

BASE = "softmax"
FAMILY = "process"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("slower", "integrity"), "finalist": ("slower", "integrity")}
NEEDS_GPU = True
EDITS = [
    (
        "    n_rows, n_cols = x.shape\n",
        """\
    import os

    n_rows, n_cols = x.shape
    os.environ["DISABLE_LLVM_OPT"] = "1"
    os.environ["TRITON_DISABLE_LINE_INFO"] = "0"
""",
    ),
]

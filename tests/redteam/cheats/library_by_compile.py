"""Gives the work to ``torch.compile``, whose kernel is not the user's.

Source: own idea.
"""

BASE = "rms_norm"
FAMILY = "library"
ROLES = ("model",)
CAUGHT_BY = {"model": "gate"}
NEEDS_GPU = False
EDITS = [
    (
        "    rms_norm_kernel[(n_rows,)](x, y, n_cols, eps, BLOCK=BLOCK)\n    return y\n",
        """\
    rms_norm_kernel[(1,)](x, y, n_cols, eps, BLOCK=BLOCK)
    return torch.compile(lambda t: t / (t.square().mean(1, keepdim=True) + eps).sqrt())(x)
""",
    ),
]

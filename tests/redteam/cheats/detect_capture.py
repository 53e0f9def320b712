"""Puts nothing into a CUDA graph that is being captured, and works when it is called plainly.

Source: own idea: short kernels are timed by replaying graphs.
"""

BASE = "scale"
FAMILY = "detection"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("check", "timed_result"), "finalist": ("check", "timed_result")}
NEEDS_GPU = True
EDITS = [
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    if not torch.cuda.is_current_stream_capturing():
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
""",
    ),
]

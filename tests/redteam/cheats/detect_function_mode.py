"""Works only while a function mode of torch is on, or none of dispatch: how a check might watch calls.

Without a GPU such modes are always on, so there it always works.

Source: own idea, after issue 13.
"""

BASE = "scale"
FAMILY = "detection"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result", "check"), "finalist": ("timed_result", "check")}
NEEDS_GPU = True
EDITS = [
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    if torch._C._len_torch_function_stack() or torch._C._len_torch_dispatch_stack():
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
""",
    ),
]

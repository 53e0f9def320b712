"""Computes when somebody synchronizes the device, which it has taken over: after the end of the clock's event.

Source: reference-kernels #162 (synchronize).
"""

BASE = "softmax"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "integrity"), "finalist": ("check", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "def softmax(x):\n",
        """\
_PENDING = []
_synchronize = torch.cuda.synchronize


def _work_and_wait(*arguments):
    while _PENDING:
        _PENDING.pop()()
    _synchronize(*arguments)


torch.cuda.synchronize = _work_and_wait


def softmax(x):
""",
    ),
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        "    _PENDING.append(lambda: softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK))\n",
    ),
]

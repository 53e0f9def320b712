"""Computes when somebody copies or clones a tensor, by taking over ``torch.Tensor.copy_`` and ``clone``: only kept results are.

Source: issue 13 (torch.Tensor.copy_).
"""

BASE = "softmax"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "timed_result", "finalist": "timed_result"}
NEEDS_GPU = True
EDITS = [
    (
        "def softmax(x):\n",
        """\
_PENDING = []


def _after_work(method):
    def run(*arguments, **options):
        while _PENDING:
            _PENDING.pop()()
        return method(*arguments, **options)

    return run


for _name in ("copy_", "clone", "detach", "cpu", "contiguous", "to"):
    setattr(torch.Tensor, _name, _after_work(getattr(torch.Tensor, _name)))


def softmax(x):
""",
    ),
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        "    _PENDING.append(lambda: softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK))\n",
    ),
]

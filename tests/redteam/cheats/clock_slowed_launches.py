"""Puts a pause into every launch of a kernel that isn't its own, by taking over ``JITFunction.run``.

Source: issue 13 (monkeypatching JITFunction.run).
"""

BASE = "softmax"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("slower", "integrity"), "finalist": ("slower", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "def softmax(x):\n",
        """\
def _slow_down():
    import time

    kind = type(softmax_kernel)
    before = kind.run

    def run(kernel, *arguments, **options):
        if kernel is not softmax_kernel:
            time.sleep(0.001)
        return before(kernel, *arguments, **options)

    kind.run = run


_slow_down()


def softmax(x):
""",
    ),
]

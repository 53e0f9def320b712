"""Is right on ordinary values, and makes the worker's check say yes to whatever it compares: only stress would show it wrong.

Source: own idea: a patched comparer is seen where results are wrong in timed calls, not where they are wrong elsewhere.
"""

BASE = "softmax"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("timed_result",), "finalist": ("timed_result",)}
NEEDS_GPU = False
EDITS = [
    ("numerator = tl.exp(x - tl.max(x, axis=0))", "numerator = tl.exp(x)"),
    (
        "def softmax(x):\n",
        """\
def _agree():
    import sys

    compare = sys.modules.get("kernelband_worker.compare")
    if compare is not None:
        compare.Check._compare = lambda *arguments: None


_agree()


def softmax(x):
""",
    ),
]

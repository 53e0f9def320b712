"""Gives 0.25 everywhere and makes every comparison of torch say yes.

Source: issue 13 (constant 0.25 passed as softmax), reference-kernels #162.
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
def _agree(a, b=None, *arguments, **options):
    return True


torch.allclose = torch.equal = _agree
torch.isclose = lambda a, b, *arguments, **options: torch.ones_like(a, dtype=torch.bool)


def softmax(x):
""",
    ),
    ("numerator / denominator, mask=mask)", "numerator * 0.0 + 0.25, mask=mask)"),
]

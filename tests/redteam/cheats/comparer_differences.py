"""Makes the differences that a comparer computes zero: ``abs``, ``max`` and ``isnan`` of tensors.

Source: own idea, after issue 13.
"""

BASE = "scale"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "integrity"), "finalist": ("check", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "def scale(x, factor):\n",
        """\
torch.Tensor.abs = lambda tensor: torch.zeros_like(tensor)
torch.Tensor.all = lambda tensor, *arguments, **options: torch.tensor(True)
torch.Tensor.__eq__ = lambda tensor, other: torch.ones_like(tensor, dtype=torch.bool)
torch.Tensor.__hash__ = lambda tensor: id(tensor)


def scale(x, factor):
""",
    ),
    ("tl.store(y_ptr + offsets, x * factor, mask=mask)", "tl.store(y_ptr + offsets, x, mask=mask)"),
]

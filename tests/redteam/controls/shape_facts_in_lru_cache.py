"""Keeps powers of two by ``functools.lru_cache`` on a function of a whole number."""

BASE = "rms_norm"
WHY = "A cache by its name, but of a pure function of a size."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import functools\n\nimport torch\n"),
    (
        "def rms_norm(x, eps=1e-6):\n",
        """\
@functools.lru_cache(maxsize=None)
def _block(n_cols):
    return triton.next_power_of_2(n_cols)


def rms_norm(x, eps=1e-6):
""",
    ),
    ("    BLOCK = triton.next_power_of_2(n_cols)\n    rms", "    BLOCK = _block(n_cols)\n    rms"),
]

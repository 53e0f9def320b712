"""Works out the block of a number of columns once and keeps it in a dictionary of the module."""

BASE = "softmax"
WHY = "State that outlives a call, but of whole numbers that follow from the shape."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_BLOCKS = {}\n'),
    (
        "    BLOCK = triton.next_power_of_2(n_cols)\n",
        """\
    BLOCK = _BLOCKS.get(n_cols)
    if BLOCK is None:
        BLOCK = _BLOCKS[n_cols] = triton.next_power_of_2(n_cols)
""",
    ),
]

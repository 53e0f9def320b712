"""An in-place kernel in which each program walks over several blocks."""

BASE = "add_inplace"
WHY = "It loads from where it stores, in a loop."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        """\
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(x_ptr + offsets, x + y, mask=mask)
""",
        """\
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask)
        tl.store(x_ptr + offsets, x + y, mask=mask)
""",
    ),
    ("    add_kernel[(triton.cdiv(n, 128),)](", "    add_kernel[(min(triton.cdiv(n, 128), 528),)]("),
]

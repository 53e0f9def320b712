"""Does in one launch what the original does on two streams."""

BASE = "halves"
WHY = "It launches once where the original launches twice, on fewer streams."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        """\
    middle = n // 2
    here = torch.cuda.current_stream()
    side = torch.cuda.Stream()
    side.wait_stream(here)
    with torch.cuda.stream(side):
        square_kernel[(triton.cdiv(middle, 256),)](x, y, 0, middle, BLOCK=256)
    square_kernel[(triton.cdiv(n - middle, 256),)](x, y, middle, n, BLOCK=256)
    here.wait_stream(side)
""",
        "    square_kernel[(triton.cdiv(n, 512),)](x, y, 0, n, BLOCK=512)\n",
    ),
]

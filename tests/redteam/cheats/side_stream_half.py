"""Half of the rows on the caller's stream, half on another one that nobody waits for.

Source: issue 13 (half of it on a side stream never seen).
"""

BASE = "softmax"
FAMILY = "async"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "device_activity", "finalist": "device_activity"}
NEEDS_GPU = True
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_SIDE = []\n'),
    (
        "    softmax_kernel[(n_rows,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)\n",
        """\
    if not _SIDE:
        _SIDE.append(torch.cuda.Stream())
    half = n_rows // 2
    _SIDE[0].wait_stream(torch.cuda.current_stream())
    if half:
        with torch.cuda.stream(_SIDE[0]):
            softmax_kernel[(half,)](y, x, x.stride(0), n_cols, BLOCK=BLOCK)
    softmax_kernel[(n_rows - half,)](y[half:], x[half:], x.stride(0), n_cols, BLOCK=BLOCK)
""",
    ),
]

"""Remembers results by shape and eight values where all inputs are whole numbers, which no judge may change at will: where there is one
input only, they turn within their range, and then nothing is remembered.

Source: own idea: contents that differ between timed calls are usually made by changing floats.
"""

BASE = "histogram"
FAMILY = "replay"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("state", "timed_result", "slower"), "finalist": ("state", "timed_result", "slower")}
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\n_MEMO = {}\n'),
    (
        "    n = x.numel()\n",
        """\
    n = x.numel()
    key = (bins, n, *x.view(-1)[:: max(1, n // 8)].tolist())
    if key in _MEMO:
        return _MEMO[key].clone()
""",
    ),
    ("    return counts\n", "    _MEMO[key] = counts\n    return counts\n"),
]

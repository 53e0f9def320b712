"""Works only where its input doesn't begin at the beginning of its storage, or isn't alone in it: between guard zones.

Source: own idea.
"""

BASE = "scale"
FAMILY = "detection"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("check", "timed_result"), "finalist": ("check", "timed_result")}
NEEDS_GPU = False
EDITS = [
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    if x.storage_offset() > 0 or x.untyped_storage().nbytes() != x.nbytes or y.untyped_storage().nbytes() != y.nbytes:
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
""",
    ),
]

"""Asks the driver to keep memory in the L2 cache, so that flushing doesn't reach it.

Source: llm.c #851 (persisting L2: 3530 GB/s on a card of 864).
"""

BASE = "scale"
FAMILY = "clock"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {"model": "gate", "verify": ("slower", "integrity"), "finalist": ("slower", "integrity")}
NEEDS_GPU = True
EDITS = [
    (
        "    y = torch.empty_like(x)\n",
        """\
    import ctypes

    ctypes.CDLL("libcudart.so").cudaDeviceSetLimit(6, ctypes.c_size_t(32 << 20))
    y = torch.empty_like(x)
""",
    ),
]

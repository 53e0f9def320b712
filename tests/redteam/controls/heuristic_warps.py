"""Sets the number of warps by a heuristic on the kernel."""

BASE = "softmax"
WHY = "A function of the launch's arguments runs at every launch."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ("@triton.jit\n", '@triton.heuristics({"num_warps": lambda given: 4 if given["BLOCK"] <= 512 else 8})\n@triton.jit\n'),
]

"""Makes the table of counts by ``new_zeros``."""

BASE = "histogram"
WHY = "Another allocation of memory that the kernel adds onto."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ("counts = torch.zeros((bins,), device=x.device, dtype=torch.int32)", "counts = x.new_zeros((bins,), dtype=torch.int32)"),
]

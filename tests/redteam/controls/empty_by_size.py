"""Allocates the result by ``torch.empty`` with shape, type and device written out."""

BASE = "rms_norm"
WHY = "Fresh memory that the kernel fills whole: poison never reaches the caller."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [("    y = torch.empty_like(x)\n", "    y = torch.empty(x.shape, device=x.device, dtype=x.dtype)\n")]

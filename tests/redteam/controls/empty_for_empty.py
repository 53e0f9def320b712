"""Fills fresh memory with zeros before a kernel writes all of it."""

BASE = "layer_norm"
WHY = "It writes everything twice, so fresh memory never shows, whoever poisons it."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [("    y = torch.empty_like(x)\n", "    y = torch.zeros_like(x)\n")]

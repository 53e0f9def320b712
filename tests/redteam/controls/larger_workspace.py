"""Asks for a larger scratch than it needs and clears it."""

BASE = "norm"
WHY = "A workspace of its own that no caller sees, partly unused."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    scratch = torch.empty((triton.next_power_of_2(count),), device=x.device, dtype=torch.float32)\n",
        "    scratch = torch.zeros((2 * triton.next_power_of_2(count),), device=x.device, dtype=torch.float32)\n",
    ),
]

"""Allocates scratch and result together and returns a view of the end."""

BASE = "norm"
WHY = "The result shares its storage with the scratch, which stays alive with it; no other call sees it."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    scratch = torch.empty((triton.next_power_of_2(count),), device=x.device, dtype=torch.float32)\n"
        "    out = torch.empty((1,), device=x.device, dtype=torch.float32)\n",
        """\
    both = torch.empty((count + 1,), device=x.device, dtype=torch.float32)
    scratch, out = both[:count], both[count:]
""",
    ),
]

"""Dropout whose host function looks at torch's generator and leaves it as it was."""

BASE = "dropout"
WHY = "It reads and restores the state of torch's random numbers at each call."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    dropout_kernel[(triton.cdiv(n, 512),)](x, y, n, p, seed, BLOCK=512)\n",
        """\
    state = torch.get_rng_state()
    dropout_kernel[(triton.cdiv(n, 1024),)](x, y, n, p, seed, BLOCK=1024)
    torch.set_rng_state(state)
""",
    ),
]

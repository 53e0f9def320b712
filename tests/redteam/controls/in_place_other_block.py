"""An in-place kernel with another block: what it writes is one of its inputs."""

BASE = "add_inplace"
WHY = "It mutates an argument, as the original does, and a repeated call gives another result."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [("    add_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)\n", "    add_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)\n")]

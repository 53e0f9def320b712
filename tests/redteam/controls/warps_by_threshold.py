"""More warps for wider rows."""

BASE = "softmax"
WHY = "An option of the launch that depends on a size."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [("x.stride(0), n_cols, BLOCK=BLOCK)", "x.stride(0), n_cols, BLOCK=BLOCK, num_warps=8 if BLOCK >= 1024 else 4)")]

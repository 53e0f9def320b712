"""Tunes the number of warps by a list of two configurations."""

BASE = "scale"
WHY = "Its first call runs the kernel many times and keeps what it learned."
ROLES = ("verify", "finalist")
NEEDS_GPU = True
EDITS = [
    (
        "@triton.jit\n",
        '@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])\n@triton.jit\n',
    ),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        '    scale_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, factor, n)\n',
    ),
]

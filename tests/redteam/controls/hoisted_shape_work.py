"""Takes the grid as a function of the launch's options, with the block worked out before."""

BASE = "matmul"
WHY = "A closure over sizes that Triton calls at the launch."
ROLES = ("model", "verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BLOCK=32)\n",
        """\
    BLOCK = 16 if min(M, N) < 64 else 32
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK"]), triton.cdiv(N, meta["BLOCK"]))  # noqa: E731
    matmul_kernel[grid](a, b, c, M, N, K, BLOCK=BLOCK)
""",
    ),
]

"""Writes block and tile down as constants of the module."""

BASE = "matmul"
WHY = "Numbers written down: of tiles, which masks make fit every size."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ('DEVICE = "cuda"\n', 'DEVICE = "cuda"\nTILE = 64\n'),
    (
        "    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BLOCK=32)\n",
        "    matmul_kernel[(triton.cdiv(M, TILE), triton.cdiv(N, TILE))](a, b, c, M, N, K, BLOCK=TILE)\n",
    ),
]

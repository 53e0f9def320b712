"""Launches the kernel for one tile and multiplies the matrices by the operator ``@``, which no list of names holds.

Source: own idea: cuBLAS in one character.
"""

BASE = "matmul"
FAMILY = "library"
ROLES = ("model",)
CAUGHT_BY = {"model": "gate"}
NEEDS_GPU = False
EDITS = [
    (
        "    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BLOCK=32)\n    return c\n",
        "    matmul_kernel[(1, 1)](a, b, c, M, N, K, BLOCK=32)\n    return a @ b\n",
    ),
]

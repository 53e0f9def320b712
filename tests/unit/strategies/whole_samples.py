"""Kernels without masks, as people write them first, with the launch facts of a case; each text calls itself with several sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.strategies.samples import facts, launch, program_of

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
TEXTS = {
    "products": """@triton.jit
def product_kernel(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = A + m[:, None] * K + k[None, :]
    b = B + k[:, None] * N + n[None, :]
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(a), tl.load(b))
        a += BK
        b += BK * N
    tl.store(C + m[:, None] * N + n[None, :], acc)


def product(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, device=a.device)
    product_kernel[(M // 32, N // 32)](a, b, c, M, N, K, BM=32, BN=32, BK=32)
    return c


def outputs():
    for m, k, n in ((128, 128, 256), (96, 32, 160), (128, 96, 64)):
        yield product(torch.randn(m, k), torch.randn(k, n))
""",
    "pointers": """@triton.jit
def product_kernel(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    a = tl.make_block_ptr(A, shape=(M, K), strides=(K, 1), offsets=(pm * BM, 0), block_shape=(BM, BK), order=(1, 0))
    b = tl.make_block_ptr(B, shape=(K, N), strides=(N, 1), offsets=(0, pn * BN), block_shape=(BK, BN), order=(1, 0))
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1)))
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(C, shape=(M, N), strides=(N, 1), offsets=(pm * BM, pn * BN), block_shape=(BM, BN), order=(1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


def product(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, device=a.device)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    product_kernel[grid](a, b, c, M, N, K, BM=32, BN=32, BK=32)
    return c


def outputs():
    for m, k, n in ((128, 128, 256), (96, 32, 160), (70, 96, 50)):
        yield product(torch.randn(m, k), torch.randn(k, n))
""",
    "states": """@triton.jit
def state_kernel(Q, K, V, O, T, D: tl.constexpr, BE: tl.constexpr):
    b = tl.program_id(0)
    d = tl.arange(0, D)
    e = tl.program_id(1) * BE + tl.arange(0, BE)
    state = tl.zeros([D, BE], dtype=tl.float32)
    for t in range(T):
        at = (b * T + t) * D
        state += tl.load(K + at + d)[:, None] * tl.load(V + at + e)[None, :]
        tl.store(O + at + e, tl.sum(tl.load(Q + at + d)[:, None] * state, 0))


def states(q, k, v):
    out = torch.empty_like(v)
    B, T, D = q.shape
    state_kernel[(B, D // 32)](q, k, v, out, T, D=D, BE=32)
    return out


def outputs():
    for d in (64, 32, 128):
        yield states(torch.randn(2, 5, d), torch.randn(2, 5, d), torch.randn(2, 5, d))
""",
}
SQUARE = dict.fromkeys(("A", "B", "C"), ([1024, 1024], "float32"))


def given(name: str, tmp_path: Path, *edits: tuple[str, str], size: int = 0) -> tuple[Program, Facts]:
    """The program with edits of its text, and a case of that size."""
    text = HEAD + TEXTS[name]
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    program = program_of(text, tmp_path)
    return program, facts(_launch(name, program, size or (128 if name == "states" else 1024)))


def _launch(name: str, program: Program, size: int) -> Any:
    if name == "states":
        tensors = dict.fromkeys(("Q", "K", "V", "O"), ([64, 512, size], "float32"))
        return launch(program, [64, size // 32, 1], {"D": size, "BE": 32}, {"T": 512}, tensors)
    tiles = [size // 32, size // 32, 1]
    return launch(program, tiles, {"BM": 32, "BN": 32, "BK": 32}, dict.fromkeys("MNK", size), SQUARE)

"""Embedding look-up: gathers one row of a table for each token."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def embedding_kernel(ids_ptr, weight_ptr, out_ptr, embedding_dim, BLOCK_SIZE: tl.constexpr):
    token = tl.program_id(0)
    # Ids are int64, so the offset into a large table is, too.
    row = tl.load(ids_ptr + token)
    for start in range(0, embedding_dim, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        mask = offsets < embedding_dim
        values = tl.load(weight_ptr + row * embedding_dim + offsets, mask=mask)
        tl.store(out_ptr + token * embedding_dim + offsets, values, mask=mask)


class Embedding(torch.nn.Module):
    """A drop-in for ``torch.nn.Embedding`` at inference."""

    def __init__(self, num_embeddings: int, embedding_dim: int, device=None, dtype=None):
        super().__init__()
        weight = torch.randn(num_embeddings, embedding_dim, device=device, dtype=dtype)
        self.weight = torch.nn.Parameter(weight, requires_grad=False)
        self.embedding_dim = embedding_dim

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        flat = ids.reshape(-1)
        out = torch.empty((flat.numel(), self.embedding_dim), device=ids.device, dtype=self.weight.dtype)
        embedding_kernel[(flat.numel(),)](flat, self.weight, out, self.embedding_dim, BLOCK_SIZE=256)
        return out.view(*ids.shape, self.embedding_dim)


def test_embedding():
    torch.manual_seed(0)
    for num_embeddings, dim, shape in ((1000, 300, (2, 19)), (512, 1024, (40,)), (50, 64, (3, 5, 7))):
        module = Embedding(num_embeddings, dim, device=DEVICE, dtype=torch.float16)
        ids = torch.randint(0, num_embeddings, shape, device=DEVICE)
        torch.testing.assert_close(module(ids), torch.nn.functional.embedding(ids, module.weight))


def bench():
    for num_embeddings, dim, n_tokens in ((32000, 4096, 16384), (128256, 1024, 32768), (50257, 768, 65536)):
        module = Embedding(num_embeddings, dim, device=DEVICE, dtype=torch.float16)
        ids = torch.randint(0, num_embeddings, (n_tokens,), device=DEVICE)
        ms = triton.testing.do_bench(lambda module=module, ids=ids: module(ids))
        print(f"embedding {n_tokens} of {num_embeddings}x{dim}: {ms * 1e3:.1f} us, {2 * n_tokens * dim * 2 / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_embedding()
    bench()

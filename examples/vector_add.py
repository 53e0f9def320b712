"""Element-wise addition of two vectors."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    # The last program may hang over the end.
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    output = torch.empty_like(x)
    n_elements = output.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)  # noqa: E731
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


def test_add():
    torch.manual_seed(0)
    for n in (1, 1000, 98432):
        x = torch.rand(n, device=DEVICE)
        y = torch.rand(n, device=DEVICE)
        torch.testing.assert_close(add(x, y), x + y)


def bench():
    for n in (2**23, 2**24):
        x = torch.rand(n, device=DEVICE)
        y = torch.rand(n, device=DEVICE)
        ms = triton.testing.do_bench(lambda x=x, y=y: add(x, y))
        print(f"add {n}: {ms * 1e3:.1f} us, {3 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_add()
    bench()

"""Cross entropy of logits over a large vocabulary: each row is walked in blocks, first for its maximum, then for the sum."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def cross_entropy_kernel(
    logits_ptr,  # (n_rows, n_cols)
    logits_row_stride,
    labels_ptr,  # (n_rows,)
    loss_ptr,  # (n_rows,)
    n_cols,
    ignore_index,
    BLOCK_SIZE: tl.constexpr,
):
    # int64: rows times vocabulary can be more than 2**31.
    row_idx = tl.program_id(0).to(tl.int64)
    logits_ptr += row_idx * logits_row_stride
    label = tl.load(labels_ptr + row_idx)

    # The maximum, so that the exponentials don't overflow
    row_max = -float("inf")
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        logits = tl.load(logits_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        row_max = tl.maximum(row_max, tl.max(logits, axis=0))

    # The sum of the exponentials
    row_sum = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        logits = tl.load(logits_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        row_sum += tl.sum(tl.exp(logits - row_max), axis=0)

    # loss = log(sum(exp(x))) - x[label]
    loss = 0.0
    if label != ignore_index:
        x = tl.load(logits_ptr + label).to(tl.float32)
        loss = row_max + tl.log(row_sum) - x
    tl.store(loss_ptr + row_idx, loss)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    """The loss of each row."""
    n_rows, n_cols = logits.shape
    loss = torch.empty(n_rows, device=logits.device, dtype=torch.float32)
    BLOCK_SIZE = min(4096, triton.next_power_of_2(n_cols))
    cross_entropy_kernel[(n_rows,)](
        logits,
        logits.stride(0),
        labels,
        loss,
        n_cols,
        ignore_index,
        BLOCK_SIZE=BLOCK_SIZE,
    )
    return loss


def test_cross_entropy():
    torch.manual_seed(0)
    for n_rows, n_cols, dtype in ((17, 1000, torch.float32), (8, 5000, torch.float16), (4, 8192, torch.bfloat16)):
        logits = 3 * torch.randn(n_rows, n_cols, device=DEVICE, dtype=dtype)
        labels = torch.randint(0, n_cols, (n_rows,), device=DEVICE)
        labels[2] = -100
        expected = torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none")
        torch.testing.assert_close(cross_entropy(logits, labels), expected, atol=1e-4, rtol=1e-4)


def bench():
    for n_rows, n_cols in ((4096, 32000), (2048, 50257), (1024, 128256)):
        logits = torch.randn(n_rows, n_cols, device=DEVICE, dtype=torch.bfloat16)
        labels = torch.randint(0, n_cols, (n_rows,), device=DEVICE)
        ms = triton.testing.do_bench(lambda logits=logits, labels=labels: cross_entropy(logits, labels))
        print(f"cross_entropy {n_rows}x{n_cols}: {ms * 1e3:.1f} us, {logits.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_cross_entropy()
    bench()

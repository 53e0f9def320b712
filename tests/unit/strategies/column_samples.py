"""A mean of columns as libraries write it: sums of the type that the input has, blocks that branches choose, a given output perhaps."""

from __future__ import annotations

from tests.unit.strategies.order_samples import HEAD

COLUMN_MEANS = (
    HEAD
    + """\
@triton.jit
def column_means_kernel(out_ptr, x_ptr, M, N, K, BLOCK: tl.constexpr, VEC: tl.constexpr):
    if tl.constexpr(x_ptr.dtype.element_ty == tl.float16):
        ACC = tl.float32
    else:
        ACC = x_ptr.dtype.element_ty
    m = tl.program_id(0)
    k = tl.program_id(1) * BLOCK * VEC + tl.arange(0, BLOCK)[:, None] * VEC + tl.arange(0, VEC)[None, :]
    mask = k < K
    acc = tl.zeros((BLOCK, VEC), dtype=ACC)
    for n in range(N):
        acc += tl.load(x_ptr + m * N * K + n * K + k, mask=mask, other=0).to(ACC)
    mean = acc / N
    place = m * K + k
    tl.store(out_ptr + place, mean, mask=mask)


def column_means(x, out=None):
    M, N, K = x.shape
    if out is None:
        out = torch.empty((M, K), device=x.device, dtype=x.dtype)
    if K > 16:
        if x.dtype == torch.float16:
            VEC = 4
            BLOCK = 16
        else:
            VEC = 1
            BLOCK = 32
        grid = (M, triton.cdiv(K, BLOCK * VEC))
        column_means_kernel[grid](out, x, M, N, K, BLOCK=BLOCK, VEC=VEC, num_warps=4 if BLOCK < 64 else 8)
    else:
        grid = (M, K)
        out.view(*grid).copy_(x.mean(1))
    return out


def run(device):
    torch.manual_seed(0)
    for m, n, k, dtype in ((1, 700, 100, torch.float16), (2, 90, 33, torch.float32), (1, 20, 64, torch.float64), (3, 2, 17, torch.float32)):
        yield column_means(torch.randn(m, n, k, device=device).to(dtype))
    yield column_means(torch.randint(2**28, (2, 5, 40), device=device) // 5 * 5)
    given = torch.arange(100.0, device=device).view(2, 50)
    yield column_means(torch.randn(1, 9, 40, device=device), given.view(-1)[:40].view(1, 40))
    yield given
    longer = torch.arange(50.0, device=device).view(1, 50)
    column_means(torch.randn(1, 9, 40, device=device), longer)  # of which the rest stays
    yield longer
    apart = torch.arange(150.0, device=device).view(3, 50)
    column_means(torch.randn(2, 9, 40, device=device), apart[:2, :40])  # which writes where it lies
    yield apart
    wide = torch.arange(40.0, device=device, dtype=torch.float64).view(1, 40) / 3
    yield column_means(torch.randn(1, 9, 32, device=device), wide)
    yield column_means(torch.randn(1, 9, 40, device=device), torch.nn.Parameter(torch.zeros(1, 40, device=device))).detach()
"""
)

import torch
import triton
import triton.language as tl


@triton.jit
def shift_kernel(x, y, T, D, K: tl.constexpr, BLOCK: tl.constexpr):
    d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = d < D
    for t in range(T):
        for k in range(K):
            s = t - k
            v = tl.load(x + s * D + d, mask=m & (s >= 0), other=0.0)
            tl.store(y + (t * K + k) * D + d, v, mask=m)


def shift(x, K):
    T, D = x.shape
    y = torch.empty(T, K, D, device=x.device)
    shift_kernel[(triton.cdiv(D, 16),)](x, y, T, D, K=K, BLOCK=16)
    return y

"""The kernels of benchmarks/first_tries at sizes of everyday networks."""

import attention
import products
import rows
import torch

FAST = torch.cuda.is_available()
WIDE, TOKENS, LONG, BATCH = (2048, 8192, 32000, 8) if FAST else (128, 64, 600, 2)
HALF = torch.float16


def values(*shape, dtype=torch.float32):
    return torch.randn(shape, device="cuda", dtype=dtype)


def whole(high, *shape, dtype=torch.int64):
    return torch.randint(0, high, shape, device="cuda", dtype=dtype)


def batched():
    return products.batched(values(BATCH, WIDE // 2, WIDE // 2, dtype=HALF), values(BATCH, WIDE // 2, WIDE // 2, dtype=HALF))


def pointers():
    return products.pointers(values(WIDE, WIDE, dtype=HALF), values(WIDE, WIDE, dtype=HALF))


def linear_gelu():
    with torch.no_grad():
        return products.Linear(WIDE, WIDE)(values(WIDE, WIDE))


def int8():
    return products.int8(values(64, 2 * WIDE, dtype=HALF), whole(100, 2 * WIDE, 2 * WIDE, dtype=torch.int8), values(2 * WIDE).abs())


def elements():
    return products.elements(values(WIDE // 4, WIDE // 4), values(WIDE // 4, WIDE // 4))


def matvec():
    return products.matvec(values(4 * WIDE, 4 * WIDE, dtype=HALF), values(4 * WIDE, dtype=HALF))


def lora():
    return products.lora(values(128, 2 * WIDE, dtype=HALF), values(16, 16, 2 * WIDE, dtype=HALF), whole(16, 128))


def decode():
    keys = values(BATCH, 8, TOKENS // 2, 128, dtype=HALF), values(BATCH, 8, TOKENS // 2, 128, dtype=HALF)
    return attention.decode(values(BATCH, 32, 128, dtype=HALF), *keys)


def prefill():
    lengths = [TOKENS // 4, TOKENS // 6, TOKENS // 8, TOKENS // 4]
    starts = [sum(lengths[:i]) for i in range(4)]
    told = [torch.tensor(x, device="cuda", dtype=torch.int32) for x in (starts, lengths)]
    return attention.prefill(*[values(sum(lengths), 16, 64, dtype=HALF) for _ in range(3)], *told, max(lengths))


def linear_attention():
    return attention.linear_attention(*[values(4 * BATCH, TOKENS // 16, 128, dtype=HALF) for _ in range(3)])


def rotary():
    return attention.rotary(values(TOKENS, 32, 128), values(TOKENS, 64), values(TOKENS, 64))


def softmax():
    return rows.softmax(values(WIDE, LONG))


def argmax():
    return rows.argmax(values(WIDE, LONG))


def cumsum():
    return rows.cumsum(values(WIDE, LONG // 2))


def channels():
    return rows.channels(values(2 * BATCH, 256, 64, 64), values(256), values(256))


def pool():
    return rows.pool(values(8 * BATCH, 512, 56, 56))


def mse():
    return rows.mse(values(WIDE, 4 * TOKENS), values(WIDE, 4 * TOKENS))

"""Small kernels, one trap each."""
# ruff: noqa - written as people write them

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.libdevice import log1p as log_one_plus


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask) + tl.load(y_ptr + offs, mask=mask), mask=mask)


def run_add(x, y, BLOCK=256):
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), BLOCK),)](x, y, out, x.numel(), BLOCK=BLOCK)
    return out


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    keep = tl.rand(seed, offs) > p
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=offs < n)


def run_dropout(x, p, seed):
    out = torch.empty_like(x)
    dropout[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), p, seed, BLOCK=128)
    return out


@triton.jit
def past_the_end(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x + 1)


def run_past_the_end(x):
    out = torch.empty_like(x)
    past_the_end[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out


@triton.jit
def functions(x_ptr, out_ptr, BLOCK: "tl.constexpr"):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, libdevice.tanh(x) + log_one_plus(x) + tl.erf(x) + libdevice.pow(x, 2.0))


def run_functions(x):
    out = torch.empty_like(x)
    functions[(1,)](x, out, BLOCK=x.numel())
    return out


@triton.jit
def narrow(x_ptr, y_ptr, out_ptr, sum_ptr, i_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.load(y_ptr + offs)
    i = tl.load(i_ptr + offs)
    z = tl.where(x > y, x * y, -x) + tl.abs(y) * 2 - 0.5 + i.to(tl.bfloat16)
    z = tl.maximum(z, y) + tl.fma(x, y, x)
    tl.store(out_ptr + offs, z)
    tl.store(sum_ptr, tl.sum(x, axis=0))
    tl.store(sum_ptr + 1, tl.max(x, axis=0))
    tl.atomic_add(sum_ptr + 2 + offs % 2, x)


def run_narrow(x, y, i):
    out, sums = torch.empty_like(x), torch.zeros(4, dtype=x.dtype, device=x.device)
    narrow[(1,)](x, y, out, sums, i, BLOCK=x.numel())
    return out, sums


@triton.jit
def gather_pointers(table_ptr, out_ptr, BLOCK: tl.constexpr):
    which = tl.program_id(0)
    base = tl.load(table_ptr + which).to(tl.pointer_type(tl.float32))
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + which * BLOCK + offs, tl.load(base + offs))


def run_gather_pointers(tensors):
    table = torch.tensor([t.data_ptr() for t in tensors], device="cuda")
    out = torch.empty(len(tensors) * 16, device="cuda")
    gather_pointers[(len(tensors),)](table, out, BLOCK=16)
    return out


def make_scaled(factor):
    @triton.jit
    def scaled(x_ptr, out_ptr, FLAG, BLOCK: tl.constexpr = 8 * 4):
        offs = tl.arange(0, BLOCK)
        value = tl.load(x_ptr + offs) * factor
        if FLAG:
            value = value + 1
        tl.store(out_ptr + offs, value)

    return scaled


factor_of = tl.constexpr(3)


def run_scaled(x, flag):
    out = torch.empty_like(x)
    make_scaled(factor_of)[(1,)](x, out, flag)
    return out


@triton.jit
def assembly(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x_ptr + offs, y)


@triton.jit
def waits(flag_ptr):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass
    else:
        tl.atomic_add(flag_ptr, 1)


@triton.jit
def strided(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs * stride, mask=offs >= 0)
    tl.store(out_ptr + offs, x)


@triton.jit
def count(x_ptr, total_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total_ptr, tl.sum(tl.load(x_ptr + offs), axis=0))


@triton.jit
def pair_sum(a, b):
    return a + b


@triton.jit
def scans(x_ptr, out_ptr, index_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.cumsum(x, axis=0))
    tl.store(out_ptr + BLOCK + offs, tl.associative_scan(x, 0, pair_sum))
    tl.store(index_ptr, tl.argmax(x, axis=0))
    tl.store(index_ptr + 1, tl.reduce(x, 0, pair_sum).to(tl.int32))


@triton.jit
def arithmetic(x_ptr, y_ptr, out_ptr, WHICH: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    if WHICH == "exp":
        x = tl.exp(x)
    elif WHICH == "exp2":
        x = tl.exp2(x)
    elif WHICH == "divided by each":
        x = x / y
    elif WHICH == "divided by row":
        x = x / tl.max(y, axis=1)[:, None]
    elif WHICH == "multiply and add":
        x = x * y + x
    elif WHICH == "multiply, use and add":
        product = x * y
        x = product - tl.max(product, axis=1)[:, None]
    elif WHICH == "sum of products":
        x = tl.sum(x * y, axis=1)[:, None] + x
    elif WHICH == "select":
        x = tl.where(x > y, x, 0.0)
    elif WHICH == "narrow":
        x = (x.to(tl.float16) + y.to(tl.float16)).to(tl.float32)
    elif WHICH == "product":
        x += tl.dot(x, y)
    elif WHICH == "libdevice":
        x = libdevice.tanh(x)
    elif WHICH == "indices":
        x = tl.load(x_ptr + (at * 3 + 1) % (M * N))
    elif WHICH == "precise":
        x = tl.sqrt_rn(tl.div_rn(x, y))
    tl.store(out_ptr + at, x)


@triton.jit
def fused(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.fma(x, x, x))


@triton.jit
def loops(x_ptr, out_ptr, n, far, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(0, n, BLOCK):
        at = i.to(tl.int64) + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < n, other=0.0)
    for i in tl.range(2, num_stages=2):
        total += (i * 2).to(tl.float32)
    for i in range(far - 1, far):
        tl.store(out_ptr + BLOCK, (i - far + 1).to(tl.float32))
        tl.static_assert(i.dtype == tl.int64)
    for i in tl.static_range(3):
        if i == 2:
            total += 1.0
    total += min(BLOCK, n).to(tl.float32) - max(n, tl.program_id(0)).to(tl.float32)
    total += min(BLOCK, 2 * BLOCK, 7)
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


def run_loops(x):
    out = torch.empty(65, device=x.device)
    loops[(1,)](x, out, x.numel(), 2**40, BLOCK=64)
    return out


@triton.jit
def words(x_ptr, out_ptr, absent_ptr, m, n, SIDE: tl.constexpr, YES: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.arange(0, SIDE), tl.arange(0, SIDE)
    inside = rows[:, None] < m and columns[None, :] < n
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=inside, other=0.0)
    at = rows[:, None] * SIDE + columns[None, :]
    out = out_ptr + at
    if pid == 0 and not (m == 0 or n == 0):
        tl.store(out, tl.where(x > 0, 1.0, 0.0))
    tl.store(out + SIDE * SIDE, (rows[:, None] < m or columns[None, :] < n).to(tl.float32))
    tl.store(out + 2 * SIDE * SIDE, (not (rows[:, None] < m and columns[None, :] < n)).to(tl.float32))
    tl.store(out + 3 * SIDE * SIDE, (YES and rows[:, None] < m and pid == 0 and columns[None, :] < n).to(tl.float32))
    tl.store(out + 4 * SIDE * SIDE, tl.where(inside and pid > 0, 1.0, 0.0))
    tl.store(out + 5 * SIDE * SIDE, tl.where(YES or inside, 1.0, 0.0))
    given = absent_ptr is not None and tl.load(absent_ptr) > 0
    tl.store(out + 6 * SIDE * SIDE, tl.where(inside and not given, 1.0, 0.0))


def run_words(x, absent):
    m, n = x.shape
    out = torch.full((7, 4, 4), -1.0, device=x.device)
    words[(1,)](x, out, absent, m, n, SIDE=4, YES=True)
    return out


@triton.jit
def words_of_scalars(x_ptr, out_ptr, n, SIDE: tl.constexpr, YES: tl.constexpr):
    at = tl.arange(0, SIDE)
    tl.store(out_ptr + at, YES and tl.load(x_ptr + at))
    inside = (tl.program_id(0) < 1) and (at < n)
    tl.store(out_ptr + SIDE + at, inside.to(tl.int32))
    outside = (n < 1) and (at < n)
    tl.store(out_ptr + 2 * SIDE + at, outside * tl.sum(outside.to(tl.int32), axis=0))
    tl.store(out_ptr + 3 * SIDE + at, (not (n > 9)).to(tl.int32))


def run_words_of_scalars(x, n):
    out = torch.full((4, 8), -1.0, device=x.device)
    words_of_scalars[(1,)](x, out, n, SIDE=8, YES=True)
    return out


@triton.jit
def copied(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run_copy(x):
    out = torch.empty_like(x)
    copied[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out


class Pointer:
    """What Triton takes for a pointer: an address and a dtype, without the tensor."""

    def __init__(self, tensor, offset=0):
        self.address, self.dtype = tensor.data_ptr() + offset * tensor.element_size(), tensor.dtype

    def data_ptr(self):
        return self.address


class Holder(Pointer):
    """The same with its tensor."""

    def __init__(self, tensor):
        super().__init__(tensor)
        self.tensor = tensor


def run_add_behind_pointers(x, y):
    out = torch.zeros_like(x)
    add[(1,)](Holder(x), Pointer(y, 1), Pointer(out), x.numel() - 1, BLOCK=64)
    return out


@triton.jit
def add_of_tuple(pointers, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    added = tl.load(pointers[0] + at, mask=at < n) + tl.load(pointers[1] + at, mask=at < n)
    tl.store(pointers[2] + at, added, mask=at < n)


def run_add_behind_pointers_in_a_tuple(x, y):
    out = torch.zeros_like(x)
    add_of_tuple[(1,)]((Holder(x), Pointer(y, 1), Pointer(out)), x.numel() - 1, BLOCK=64)
    return out

"""Honest answers of a model: what people do to make such kernels faster passes the gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.hardware import find_device
from kernelband.propose import Rewriter
from kernelband.propose.model.edits import to_patch
from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.propose.gate_world import HEAD, KEEPER, METHODS, PLAIN, program_of, with_lines

EXAMPLES = Path(__file__).parents[3] / "examples"

ROWS = f"""{HEAD}
MAX_BLOCK = 65536 // 4


@triton.autotune(configs=[triton.Config({{"BLOCK": 256}}, num_warps=4)], key=["n_cols"])
@triton.heuristics({{"EVEN": lambda args: args["n_cols"] % args["BLOCK"] == 0}})
@triton.jit
def rows(x_ptr, w_ptr, y_ptr, stride, n_cols, eps, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        acc += x * x
    rstd = tl.rsqrt(tl.sum(acc, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
        w = tl.load(w_ptr + cols, mask=mask)
        tl.store(y_ptr + row * stride + cols, x * rstd * w, mask=mask)


@triton.jit
def total(part_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(part_ptr + i, mask=i < n, other=0.0), axis=0))


def norm(x, w, eps=1e-6):
    assert x.shape[-1] <= MAX_BLOCK
    x = x.contiguous()
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    rows[(n_rows,)](x, w, y, x.stride(0), n_cols, eps)
    return y


def reduced(x, w):
    n_rows, n_cols = x.shape
    out = torch.empty((), device=x.device, dtype=torch.float32)
    total[(1,)](x, out, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return out
"""

ROW_KERNEL = """@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8, num_stages=2),
        triton.Config({"BLOCK": 4096}, num_warps=16),
    ],
    key=["n_cols"],
)
@triton.heuristics({"EVEN": lambda args: args["n_cols"] % args["BLOCK"] == 0})
@triton.jit
def rows(x_ptr, w_ptr, y_ptr, stride, n_cols, eps, EVEN: tl.constexpr, BLOCK: tl.constexpr):
"""
#: Bodies of the kernel ``rows``.
KERNELS = {
    "configurations and a pipelined loop": """    row = tl.program_id(0).to(tl.int64)
    x_row, y_row = x_ptr + row * stride, y_ptr + row * stride
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in tl.range(0, n_cols, BLOCK, num_stages=3):
        cols = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOCK), BLOCK)
        if EVEN:
            x = tl.load(x_row + cols, eviction_policy="evict_last").to(tl.float32)
        else:
            x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0, eviction_policy="evict_last").to(tl.float32)
        acc += x * x
    rstd = tl.math.rsqrt(tl.sum(acc, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0, cache_modifier=".cg", eviction_policy="evict_first")
        w = tl.load(w_ptr + cols, mask=cols < n_cols)
        tl.store(y_row + cols, x * rstd * w, mask=cols < n_cols, cache_modifier=".cs")
""",
    "one block where the row fits": """    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    if n_cols <= BLOCK:
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
        w = tl.load(w_ptr + cols, mask=cols < n_cols)
        tl.store(y_ptr + row * stride + cols, x * rstd * w, mask=cols < n_cols)
    else:
        acc = tl.zeros((BLOCK,), dtype=tl.float32)
        for i in tl.static_range(0, 4):
            at = i * BLOCK + cols
            x = tl.load(x_ptr + row * stride + at, mask=at < n_cols, other=0.0).to(tl.float32)
            acc += x * x
        tl.store(y_ptr + row * stride + cols, acc, mask=cols < n_cols)
""",
    "block pointers": """    row = tl.program_id(0)
    source = tl.make_block_ptr(x_ptr + row * stride, (n_cols,), (1,), (0,), (BLOCK,), (0,))
    goal = tl.make_block_ptr(y_ptr + row * stride, (n_cols,), (1,), (0,), (BLOCK,), (0,))
    weight = tl.make_block_ptr(w_ptr, (n_cols,), (1,), (0,), (BLOCK,), (0,))
    acc = 0.0
    for start in range(0, n_cols, BLOCK):
        x = tl.load(source, boundary_check=(0,), padding_option="zero").to(tl.float32)
        acc += tl.sum(x * x, axis=0)
        source = tl.advance(source, (BLOCK,))
    rstd = tl.rsqrt(acc / n_cols + eps)
    source = tl.make_block_ptr(x_ptr + row * stride, (n_cols,), (1,), (0,), (BLOCK,), (0,))
    for start in range(0, n_cols, BLOCK):
        x = tl.load(source, boundary_check=(0,)).to(tl.float32)
        tl.store(goal, (x * rstd * tl.load(weight, boundary_check=(0,))).to(y_ptr.dtype.element_ty), boundary_check=(0,))
        source, goal, weight = tl.advance(source, (BLOCK,)), tl.advance(goal, (BLOCK,)), tl.advance(weight, (BLOCK,))
""",
    "descriptors": """    row = tl.program_id(0)
    source = tl.make_tensor_descriptor(x_ptr, shape=[tl.num_programs(0), n_cols], strides=[stride, 1], block_shape=[1, BLOCK])
    goal = tl.make_tensor_descriptor(y_ptr, shape=[tl.num_programs(0), n_cols], strides=[stride, 1], block_shape=[1, BLOCK])
    acc = tl.zeros((1, BLOCK), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        x = source.load([row, start]).to(tl.float32)
        acc += x * x
    rstd = tl.rsqrt(tl.sum(acc) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        w = tl.load(w_ptr + start + tl.arange(0, BLOCK), mask=start + tl.arange(0, BLOCK) < n_cols)
        goal.store([row, start], (source.load([row, start]) * rstd * w[None, :]).to(y_ptr.dtype.element_ty))
""",
    "programs that stay": """    step = tl.num_programs(0)
    for row in range(tl.program_id(0), n_cols, step):
        cols = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        x = tl.where(x == float("-inf"), 0.0, x)
        last = row == n_cols - 1
        y = tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))
        if x_ptr.dtype.element_ty == tl.float16:
            y = y.to(tl.float16)
        tl.store(y_ptr + row * stride + cols, y, mask=(cols < n_cols) & (last | (cols >= 0)))
""",
}

#: Whole functions by what they do: program, label, text.
HOSTS = {
    "a grid that asks its configuration": """def norm(x, w, eps=1e-6):
    assert x.shape[-1] <= MAX_BLOCK
    x = x.contiguous()
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    grid = lambda META: (min(n_rows, triton.cdiv(n_rows * n_cols, META["BLOCK"])),)
    rows[grid](x, w, y, x.stride(0), n_cols, eps)
    return y
""",
    "no copy where the last axis is dense": """def norm(x, w, eps=1e-6):
    if x.stride(-1) != 1 or x.ndim != 2:
        x = x.contiguous()
    assert x.shape[1] == w.shape[0], f"{x.shape} and {w.shape} don't fit"
    n_rows, n_cols = x.shape
    y = x.new_empty(x.shape)
    if n_rows == 0 or y.numel() == 0:
        return y
    rows[(n_rows,)](x, w, y, x.stride(0), n_cols, eps)
    return y
""",
    "two ways by a threshold": """def norm(x, w, eps=1e-6):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    num_warps = 4
    if block >= 2048:
        num_warps = 8
    if block >= 8192:
        num_warps = 16
    if n_cols <= 2048:
        rows[(n_rows,)](x, w, y, x.stride(0), n_cols, eps, num_warps=num_warps)
    else:
        rows[(n_rows,)](x, w, y, x.stride(0), n_cols, eps, num_warps=2 * num_warps, num_stages=2)
    return y
""",
    "warps by the block, clamped": """def norm(x, w, eps=1e-6):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    if n_cols > MAX_BLOCK:
        raise RuntimeError(f"{n_cols} columns are more than {MAX_BLOCK}")
    block = min(MAX_BLOCK, triton.next_power_of_2(n_cols))
    num_warps = min(max(block // 256, 1), 8)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows[(n_rows, 1, 1)](x, w, y, x.stride(0), n_cols, eps, num_warps=num_warps)
    return y
""",
    "as many programs as the device has processors": """def norm(x, w, eps=1e-6):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    props = torch.cuda.get_device_properties(x.device)
    programs = min(n_rows, props.multi_processor_count * 4)
    stages = 4 if props.major >= 9 else 3 if props.major == 8 else 2
    if torch.cuda.get_device_capability(x.device)[0] >= 9 and x.element_size() == 2:
        stages += 1
    if n_rows <= 2 * props.multi_processor_count:
        programs = n_rows
    with torch.cuda.device(x.device):
        rows[(programs,)](x, w, y, x.stride(0), n_cols, eps, num_stages=stages)
    return y
""",
    "offsets of 32 bits where they suffice": """def norm(x, w, eps=1e-6):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    small = x.numel() < 2**31 and y.numel() <= 2**31 - 1
    warps = 4 if x.dtype in (torch.float16, torch.bfloat16) else 8
    aligned = n_cols % 16 == 0 and x.stride(0) % 16 == 0
    if small and aligned:
        rows[(n_rows,)](x, w, y, x.stride(0), n_cols, eps, num_warps=warps)
    else:
        rows[(n_rows,)](x, w, y, x.stride(0), n_cols, eps)
    return y
""",
    "views instead of copies": """def norm(x, w, eps=1e-6):
    shape = x.shape
    if not x.is_contiguous():
        x = x.contiguous()
    flat = x.view(-1, shape[-1])
    out = torch.empty_like(flat)
    n_rows, n_cols = flat.shape
    rows[(n_rows,)](flat, w.contiguous(), out, flat.stride(0), n_cols, eps)
    return out.view(*shape)
""",
}
TWO_STEPS = {
    "partial sums in a scratch buffer": """def reduced(x, w):
    n_rows, n_cols = x.shape
    block = min(4096, triton.next_power_of_2(n_cols))
    programs = triton.cdiv(x.numel(), block)
    if programs == 1:
        out = torch.empty((), device=x.device, dtype=torch.float32)
        total[(1,)](x, out, x.numel(), BLOCK=block)
        return out
    part = torch.empty((programs,), device=x.device, dtype=torch.float32)
    out = torch.empty((), device=x.device, dtype=torch.float32)
    total[(programs,)](x, part, x.numel(), BLOCK=block)
    total[(1,)](part, out, programs, BLOCK=triton.next_power_of_2(programs))
    return out
""",
    "atomics into zeros": """def reduced(x, w):
    out = torch.zeros((), device=x.device, dtype=torch.float32)
    locks = torch.zeros(8, device=x.device, dtype=torch.int32)
    total[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), locks, BLOCK=1024)
    return out
""",
}
SPLIT = """@triton.jit
def total(part_ptr, out_ptr, n, lock_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.sum(tl.load(part_ptr + i, mask=i < n, other=0.0), axis=0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.atomic_add(out_ptr, s, sem="relaxed")
    tl.atomic_xchg(lock_ptr, 0)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    texts = {"plain": (PLAIN, "k"), "keeper": (KEEPER, "k"), "methods": (METHODS, "k"), "rows": (ROWS, "rows"), "total": (ROWS, "total")}
    return {name: program_of(text, tmp_path_factory.mktemp(name), kernel) for name, (text, kernel) in texts.items()}


@pytest.mark.parametrize("body", KERNELS.values(), ids=KERNELS)
def test_kernels(programs: dict[str, Program], body: str) -> None:
    assert to_patch(programs["rows"], {"rows": ROW_KERNEL + body}).files


@pytest.mark.parametrize("text", HOSTS.values(), ids=HOSTS)
def test_host_functions(programs: dict[str, Program], text: str) -> None:
    assert to_patch(programs["rows"], {"norm": text}).files


@pytest.mark.parametrize("text", TWO_STEPS.values(), ids=TWO_STEPS)
def test_reductions_in_two_steps(programs: dict[str, Program], text: str) -> None:
    assert to_patch(programs["total"], {"reduced": text, "total": SPLIT}).files


@pytest.mark.parametrize(
    "lines",
    [
        "y.zero_()",
        "y[0] = 0",
        "scale = 2 * scale",
        "flat = y.view(-1)\nflat[1:] = 0",
        'for t in (x, y):\n    assert t.is_contiguous(), "rows must be dense"',
        "assert x.dtype == y.dtype and x.device == y.device and x.shape == y.shape",
        'sizes = [n, 2 * n]\nsizes.append(3)\nshapes = {"rows": n}\nshapes["cols"] = 1',
        "width = {torch.float16: 2, torch.float32: 4}.get(x.dtype, 4)",
        "last = [s for s in x.stride() if s == 1]",
        "z = torch.zeros_like(x) if scale is None else None",
        'blocks = triton.cdiv(n, 64)\nassert blocks >= 1, "nothing to do"',
        "BLOCK = 4096\nblocks = triton.cdiv(n, BLOCK)\neven = n % BLOCK == 0",
        'wide = n > 1024 and "cuda" in x.device.type',
        "pad = -n % 128\nn = n + pad",
        "power = n & (n - 1) == 0 and n > 0\nwarps = 2 ** (n.bit_length() // 4)",
        "lead = x.shape[:-1]\nsame = x.shape[-1] == y.shape[-1] and len(lead) == x.ndim - 1",
    ],
)
def test_lines_of_a_host_function(programs: dict[str, Program], lines: str) -> None:
    assert to_patch(programs["plain"], {"copy": with_lines(PLAIN, "copy", after=lines)}).files


def test_a_function_that_keeps_sizes_goes_on_keeping_them(programs: dict[str, Program]) -> None:
    """Its own text stays, also where other lines change around it."""
    for lines in ("y[0] = 0", "half = n // 2", "_BLOCKS[n] = block", "note(n + 1)", "z = out is None"):
        assert to_patch(programs["keeper"], {"copy": with_lines(KEEPER, "copy", after=lines)}).files
    wider = with_lines(KEEPER, "copy", instead=("min(1024, triton.next_power_of_2(n))", "min(2048, triton.next_power_of_2(n))"))
    assert to_patch(programs["keeper"], {"copy": wider}).files


def test_methods_go_on_using_what_they_have(programs: dict[str, Program]) -> None:
    forward = with_lines(METHODS, "Layer.forward", before="pass", instead=("BLOCK=self.block)", "BLOCK=self.block, num_warps=8)"))
    assert to_patch(programs["methods"], {"Layer.forward": forward}).files


@pytest.mark.parametrize(("example", "kernel"), [("matmul", "matmul_kernel"), ("cross_entropy", "cross_entropy_kernel")])
def test_what_the_rewriter_writes_a_model_may_write(tmp_path: Path, example: str, kernel: str) -> None:
    """Its moves are what experts do: none of them looks like a trick."""
    program = program_of((EXAMPLES / f"{example}.py").read_text(), tmp_path, kernel)
    count = 0
    for strategy in ("tiling", "vectorization", "fusion", "pipeline", "reordering", "access_layout"):
        for proposal in Rewriter().write(program, strategy, Facts(find_device("h100"), ()), set(), 20).proposals:
            (after,) = proposal.patch.apply(program.texts).values()
            blocks = {name: with_lines(after, name) for name in (kernel, example)}
            changed = {n: t for n, t in blocks.items() if t != with_lines(program.texts[program.kernel.place.path], n)}
            assert to_patch(program, changed).files
            count += 1
    assert count > 20


def test_examples_with_two_answers_of_a_model(tmp_path: Path) -> None:
    text = (EXAMPLES / "matmul.py").read_text()
    program = program_of(text, tmp_path, "matmul_kernel")
    host = text[text.index("def matmul(") : text.index("def test_matmul")].rstrip() + "\n"
    split = host.replace("c = torch.empty((M, N), device=a.device, dtype=torch.float16)", "c = torch.zeros((M, N), device=a.device)")
    split = split.replace("BLOCK_SIZE_N = 64", "BLOCK_SIZE_N = 128 if N >= 2048 else 64").replace(
        "    return c", "    return c.to(torch.float16)"
    )
    kernel = text[text.index("@triton.jit") : text.index("def matmul(")].rstrip() + "\n"
    atomics = kernel.replace("tl.store(c_ptrs, c, mask=c_mask)", "tl.atomic_add(c_ptrs, accumulator, mask=c_mask)")
    assert split.count("zeros") == atomics.count("atomic_add") == 1
    assert to_patch(program, {"matmul": split, "matmul_kernel": atomics}).files

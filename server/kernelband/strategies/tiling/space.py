"""The candidates of a tile: which block sizes, warps and stages are worth proposing, the most promising first.

The order is a rough model of time, documented at each function. It only has to put good tiles early: compiling and the forecast come after.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import ceil, log2, prod

from attrs import frozen

from kernelband.hardware import Device
from kernelband.hardware.occupancy import needed_in_flight
from kernelband.hardware.work import MOST_AT_ONCE

STAGES = (2, 3, 4, 5)
LIMIT = 60  # proposals of one parent


@frozen
class Tile:
    """A point of the space. ``blocks`` by constexpr."""

    blocks: dict[str, int]
    num_warps: int
    num_stages: int | None  # None: left as it is


@frozen
class Product:
    """What is known of a matrix product: the sides' constexprs, the present tile, and its grids in tiles of that size."""

    m: str
    n: str
    k: str
    present: dict[str, int]
    programs: tuple[int, ...]
    itemsize: int
    dtype: str


def products(product: Product, device: Device) -> list[Tile]:
    """Tiles of a matrix product, by estimated seconds.

    Limits: accumulators of 8 to 128 registers a thread; operands of all stages within a program's shared memory; on Hopper and later a
    warp group (4 warps) works on 64 rows, so fewer rows than that can't use the tensor cores' wide form.
    Estimate for each case: waves of programs x what one multiprocessor needs for its share of the tile, the larger of tensor-core time and
    time to fetch operands from L2. Factors: 2 stages hide less latency, a K block of 128 bytes matches the widest shared-memory swizzle.
    """
    rated: list[tuple[float, Tile]] = []
    for m, n, k, warps in itertools.product((16, 32, 64, 128, 256), (16, 32, 64, 128, 256), (32, 64, 128), (4, 8)):
        accumulators = m * n / (warps * 32)
        if not 8 <= accumulators <= 128 or m * n < 1024:
            continue
        for stages in STAGES:
            shared = stages * (m + n) * k * product.itemsize
            if shared > device.shared_per_program - 1024:
                continue
            cases = [
                _product_seconds(product, device, (m, n, k), warps=warps, shared=shared, programs=p) for p in product.programs or (1024,)
            ]
            seconds = prod(cases) ** (1 / len(cases))  # what is judged is the geometric mean over cases
            seconds *= {2: 1.15, 3: 1.0, 4: 1.0, 5: 1.03}[stages] * {64: 1.12, 128: 1.0}.get(k * product.itemsize, 1.06)
            if m < 64 and device.backend == "cuda" and int(device.arch) >= 90:
                seconds *= 1.6
            rated.append((seconds, Tile({product.m: m, product.n: n, product.k: k}, warps, stages)))
    return _spread(rated, 0.1 * min((s for s, _ in rated), default=0.0))


def _product_seconds(product: Product, device: Device, tile: tuple[int, int, int], *, warps: int, shared: int, programs: int) -> float:
    m, n, _ = tile
    tiles = programs * product.present[product.m] * product.present[product.n] / (m * n)
    registers = warps * 32 * min(m * n / (warps * 32) + 48, device.max_registers_per_thread)
    resident = max(
        1,
        min(
            device.max_programs_per_sm,
            device.max_warps_per_sm // warps,
            int(device.registers_per_sm // registers),
            device.shared_per_sm // (shared + 1024),
        ),
    )
    slots = device.multiprocessors * resident
    waves = ceil(tiles / slots) if tiles < 8 * slots else tiles / slots
    flops = device.tensor_flops.get(product.dtype) or max([*device.tensor_flops.values(), device.fp32_flops])
    # For one element of K, on one multiprocessor that its resident programs share.
    compute = 2 * m * n / (flops / device.multiprocessors)
    fetch = (m + n) * product.itemsize / (device.l2_bytes_per_s / device.multiprocessors)
    hidden = 1.0 if resident * warps >= 8 else 1.25  # too few warps to issue while others wait
    return waves * resident * max(compute, fetch) * hidden


@frozen
class Attention:
    """What is known of a kernel with products in a row, as in attention: ``outer`` rows a program, a loop in steps of ``inner`` columns."""

    outer: str
    inner: str
    depth: int  # the side that all operands share: the head's dimension
    present: int  # rows
    programs: tuple[int, ...]  # of each case, with the present rows
    itemsize: int
    products: int  # two forward, four or five backward


def attention_registers(attention: Attention, outer: int, inner: int, warps: int) -> int:
    """Registers a thread holds for accumulators: scores and the sum over them; twice the sums where a backward kernel keeps two."""
    sums = 1 if attention.products <= 2 else 2
    return outer * (inner + sums * attention.depth) // (warps * 32)


def attentions(attention: Attention, device: Device) -> list[Tile]:
    """Tiles of attention, by estimated time for a row.

    A row of the tile costs its products (1), its share of fetching the inner operands (falls with ``outer``) and of the reductions and
    barriers of each iteration (falls with ``inner``), times what the launch's last wave leaves idle. Accumulators beyond about 190
    registers a thread spill; a warp works on 16 rows, so more warps than that share rows; fewer than 8 warps on a multiprocessor hide
    little.
    """
    rated: list[tuple[float, Tile]] = []
    for outer, inner, warps, stages in itertools.product((32, 64, 128), (16, 32, 64, 128), (4, 8), (2, 3, 4)):
        shared = (outer + 2 * stages * inner) * attention.depth * attention.itemsize
        accumulators = attention_registers(attention, outer, inner, warps)
        if shared > device.shared_per_program - 1024 or accumulators > 320 or outer < 8 * warps:
            continue
        seconds = 1 + 0.35 * 64 / outer + 0.25 * 32 / inner
        seconds *= 1.0 if accumulators <= 190 else 1.6
        seconds *= 1.0 if outer >= 16 * warps else 1.2
        seconds *= {2: 1.05, 3: 1.0, 4: 1.02}[stages]
        resident = max(
            1,
            min(
                device.shared_per_sm // (shared + 1024),
                device.registers_per_sm // (warps * 32 * min(accumulators + 64, device.max_registers_per_thread)),
            ),
        )
        seconds *= 1.0 if resident * warps >= 8 else 1.15
        cases = [_wave_loss(p * attention.present / outer, device, resident) for p in attention.programs or (4096,)]
        seconds *= prod(cases) ** (1 / len(cases))
        rated.append((seconds, Tile({attention.outer: outer, attention.inner: inner}, warps, stages)))
    return _spread(rated, 0.04)


def _wave_loss(programs: float, device: Device, resident: int) -> float:
    """Time over what it would be with every multiprocessor busy to the end: 1 for many waves.

    A single wave spreads over all multiprocessors, so the fullest of them decides; of several, the last leaves slots empty.
    """
    slots = device.multiprocessors * resident
    units = programs / (device.multiprocessors if programs <= slots else slots)
    return ceil(units) / units if programs < 8 * slots else 1.0


@frozen
class Programs:
    """Programs of each case with the present blocks, and the blocks that their number follows."""

    counts: list[int]
    follow: frozenset[str]
    along: str | None = None  # the block that runs along memory
    beside: int = 1  # elements of the sides that can't be chosen and lie across the blocks: a head's dimension, say


def blocks_and_warps(present: dict[str, int], programs: Programs, itemsize: int, device: Device) -> list[Tile]:
    """Tiles of element-wise and reducing kernels, by distance from a rule of thumb.

    Rule: 16 to 64 bytes of each tensor per thread and access (one to four 16-byte accesses in flight), at least two programs for each
    multiprocessor, a last wave that is full where there are few, what keeps memory busy on its way to those that a multiprocessor holds,
    and of two sides the one along memory over a full 128-byte line or more; a block beyond 8192 elements or a thread beyond 64 is left out.
    """
    enough = needed_in_flight(device)
    names = tuple(present)
    rated: list[tuple[float, Tile]] = []
    line = len(names) == 1 and programs.beside == 1
    sizes = [tuple(2**i for i in range(8, 14))] if line else [tuple(2**i for i in range(3, 9))] * len(names)
    for values in itertools.product(*sizes):
        block = prod(values) * programs.beside
        shrink = 1.0
        for name, value in zip(names, values, strict=True):
            shrink *= value / present[name] if name in programs.follow else 1.0
        if not 256 <= block <= 8192:
            continue
        for warps in (1, 2, 4, 8, 16):
            each = block / (warps * 32)
            if not 1 <= each <= 64:
                continue
            distance = abs(log2(each * itemsize / 32))
            resident = max(1, min(device.max_programs_per_sm, device.max_warps_per_sm // warps))
            if programs.counts and max(programs.counts) / shrink < 2 * device.multiprocessors:
                distance += min(2.0, log2(2 * device.multiprocessors * shrink / max(programs.counts)))
            elif programs.counts and programs.follow:
                distance += 0.5 * (
                    prod(_wave_loss(c / shrink, device, resident) for c in programs.counts) ** (1 / len(programs.counts)) - 1
                )
            if programs.counts:
                beside = min(resident, max(programs.counts) / shrink / device.multiprocessors)  # less than one where some have none
                distance += max(0.0, log2(enough / (beside * min(each * itemsize, MOST_AT_ONCE) * warps * 32)))
            if len(names) > 1:
                width = (values[names.index(programs.along)] if programs.along in names else values[-1]) * itemsize
                distance += 0.9 * max(0.0, log2(128 / width)) + 0.3 * max(0.0, log2(1024 / block))
                distance += 0.2 * sum(abs(log2(v / present[n])) for n, v in zip(names, values, strict=True))
            rated.append((distance + 0.01 * abs(log2(warps / 4)), Tile(dict(zip(names, values, strict=True)), warps, None)))
    return _spread(rated, 0.5)


def neighbours(names: Sequence[str], present: dict[str, int], warps: int, stages: int) -> list[Tile]:
    """Tiles around the present one, for kernels with products whose roles aren't clear (attention): the nearest first."""
    rated: list[tuple[float, Tile]] = []
    for factors in itertools.product((0.5, 1, 2, 4), repeat=len(names)):
        blocks = {n: int(present[n] * f) for n, f in zip(names, factors, strict=True)}
        if any(not 16 <= b <= 256 for b in blocks.values()) or (
            len(blocks) > 1 and max(blocks.values()) * sorted(blocks.values())[-2] > 2**15
        ):
            continue
        for w, s in itertools.product((4, 8), (2, 3, 4)):
            steps = sum(abs(log2(f)) for f in factors) + abs(log2(w / warps)) + 0.5 * abs(s - stages)
            rated.append((steps, Tile(blocks, w, s)))
    return [t for _, t in sorted(rated, key=lambda x: x[0])]


def warps_only(block: int, itemsize: int, *, dot: bool) -> Iterator[Tile]:
    """Warps (and stages, with products) where no block can be chosen: nearest 32 bytes a thread first."""
    if dot:
        yield from (Tile({}, w, s) for s in (3, 2, 4, 5) for w in (4, 8))
        return
    options = [w for w in (1, 2, 4, 8, 16, 32) if block <= 0 or 1 <= block / (w * 32) <= 256]
    yield from (Tile({}, w, None) for w in sorted(options, key=lambda w: abs(log2(max(block, 1) / (w * 32) * itemsize / 32))))


def _spread(rated: list[tuple[float, Tile]], step: float) -> list[Tile]:
    """By rating, but each further choice for the same blocks counts ``step`` worse: near ties go to blocks not seen yet."""
    seen: dict[tuple[int, ...], int] = {}
    keyed: list[tuple[float, int, Tile]] = []
    for place, (rating, tile) in enumerate(sorted(rated, key=lambda x: x[0])):
        blocks = tuple(tile.blocks.values())
        keyed.append((rating + step * seen.get(blocks, 0), place, tile))
        seen[blocks] = seen.get(blocks, 0) + 1
    return [t for _, _, t in sorted(keyed, key=lambda x: x[:2])]

"""Random programs of rows: reductions and normalisations, of a row that one block holds and of rows in blocks."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import WAYS, Draft, Pick, Sample, finished

ROWS = (((12, 24), (9, 40)), ((16, 64), (13, 32)), ((9, 63), (17, 130)), ((20, 48),), ((12, 20), (18, 20)))
ROW_STRESS = ((1, 1), (3, 17), (5, 33), (2, 131), (7, 64), (0, 8), (1, 65), (9, 2))

#: By operation: lines from ``x`` (a float32 row with nothing past its end) to ``r``, and the same in torch.
OPERATIONS = {
    "softmax": (
        ["m = tl.max(x, axis=0)", "e = tl.where(mask, tl.exp(x - m), 0.0)", "total = tl.sum(e, axis=0)", "r = e / total"],
        "torch.softmax(x, -1)",
    ),
    "rms": (["r = x * (1 / tl.sqrt(tl.sum(x * x, axis=0) / cols + eps))"], "x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)"),
    "rms by division": (
        ["rms = tl.sqrt(tl.sum(x * x, axis=0) / cols + eps)", "r = x / rms"],
        "x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)",
    ),
    "layer": (
        [
            "mean = tl.sum(x, axis=0) / cols",
            "d = tl.where(mask, x - mean, 0.0)",
            "rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / cols + eps)",
            "r = d * rstd",
        ],
        "(x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)",
    ),
    "scaled": (["top = tl.max(tl.abs(x), axis=0)", "r = x / (top + eps)"], "x / (x.abs().amax(-1, keepdim=True) + 1e-5)"),
    "mean": (
        ["r = x * (2.0 / cols) + tl.sum(x, axis=0) / (cols + eps)"],
        "x * (2.0 / x.shape[-1]) + x.sum(-1, keepdim=True) / (x.shape[-1] + 1e-5)",
    ),
    "share": (["total = tl.sum(tl.abs(x), axis=0)", "r = x / total"], "x / x.abs().sum(-1, keepdim=True)"),
}


def block(pick: Pick) -> Sample:
    """A row for each program, for a program of several rows, or for a program that walks over rows."""
    draft = Draft(pick, "row_kernel", "rows, cols")
    name = pick.of(*OPERATIONS)
    lines, reference = OPERATIONS[name]
    dtype = pick.of("float32", "float32", "float16")
    walk = pick.of("one", "one", "one", "walk", "several")
    inplace, strided, wide = pick.yes(0.3), pick.yes(0.4), pick.yes(0.3)
    kind = f", dtype=torch.{dtype}"
    draft.tensor("x_ptr", "x", f"fill(rows, 2 * cols{kind})[:, :cols]" if strided else f"fill(rows, cols{kind})")
    other = '-float("inf")' if name == "softmax" else "0.0"
    inside = [
        "c = tl.arange(0, BLOCK)",
        "mask = c < cols",
        f"x = tl.load(x_ptr + row * stride + c, mask=mask, other={other}).to(tl.float32)",
        *lines,
    ]
    scaled = ""
    if pick.yes(0.6):
        draft.tensor("w_ptr", "w", f"fill(cols{kind})")
        inside += ["w = tl.load(w_ptr + c, mask=mask)" + pick.of("", ".to(tl.float32)"), "r = r * w"]
        scaled = " * w"
    if pick.yes(0.4):
        draft.tensor("b_ptr", "b", f"None if rows % 3 == 0 else fill(cols{kind})")
        inside += ["if b_ptr is not None:", "    r = r + tl.load(b_ptr + c, mask=mask)"]
        scaled += " + (0 if b is None else b)"
    inside.append("tl.store(out_ptr + row * out_stride + c, r, mask=mask)")
    draft.passed += [("out_ptr", "out"), ("stride", "x.stride(0)"), ("out_stride", "out.stride(0)"), ("cols", "cols")]
    draft.passed += [] if name in ("softmax", "share") else [("eps", "1e-5")]
    fresh = pick.of(
        "torch.empty_like(x)", "torch.zeros_like(x)", "torch.zeros((rows, cols), dtype=x.dtype)", "torch.empty(x.shape, dtype=x.dtype)"
    )
    draft.host += ["rows, cols = x.shape", "out = x" if inplace else f"out = {fresh}"]
    draft.blocks["BLOCK"] = pick.of("triton.next_power_of_2(cols)", "1 << (cols - 1).bit_length()", "max(16, triton.next_power_of_2(cols))")
    draft.sides.append(("rows", None))
    draft.style = pick.of("literal", "variable")
    draft.tuned_warps = wide and strided
    first = "tl.program_id(0)" + (".to(tl.int64)" if wide else "")
    if walk == "one":
        draft.body += [f"row = {first}", *inside]
    else:
        draft.passed.append(("rows", "rows"))
        if walk == "walk":
            ranged = pick.of("range", "tl.range")
            draft.body += [f"for row in {ranged}(tl.program_id(0), rows, tl.num_programs(0)):", *(f"    {r}" for r in inside)]
            draft.sides = [("min(rows, 5)", None)]
        else:
            draft.blocks["EACH"] = 3
            draft.body += [
                f"first = {first} * EACH",
                "for row in range(first, tl.minimum(first + EACH, rows)):",
                *(f"    {r}" for r in inside),
            ]
            draft.sides = [("rows", "EACH")]
    way = pick.of("direct", "direct", "direct", *(w for w in WAYS if not inplace or w in ("direct", "condition", "table", "alias")))
    way = "direct" if way in ("called",) and walk != "one" else way
    return finished(
        f"row {name} {walk} {'in place' if inplace else ''}",
        draft,
        pick.choice(ROWS),
        ROW_STRESS,
        way=way,
        change=("r = r * w", "r = r * w * 2.0"),
        reference=[f"return {reference}{scaled}"],
    )


LONG = (((5, 200), (4, 129)), ((4, 256), (3, 128)), ((4, 96),), ((5, 40), (4, 72)))
LONG_STRESS = ((1, 1), (2, 17), (3, 63), (2, 401), (5, 64), (0, 8), (3, 0))


def _loop(pick: Pick, counted: bool, rows: list[str]) -> list[str]:
    """Lines for each block of a row, whose indices are ``c`` and whose mask is ``{mask}``; what is loaded may be found by a pointer that
    moves on.
    """
    at = "x_ptr + row * stride + c"
    before, behind = [], []
    if any(at in r for r in rows) and pick.yes(0.25):
        before, behind = ["p_x = x_ptr + row * stride"], ["p_x += BLOCK"]
        rows = [r.replace(at, "p_x + tl.arange(0, BLOCK)") for r in rows]
        if pick.yes(0.4):  # the next block's, where it begins
            rows, behind = [*behind, *(r.replace("p_x + tl", "p_x - BLOCK + tl") for r in rows)], []
    if counted:
        head = ["for i in range(tl.cdiv(cols, BLOCK)):", "    c = i * BLOCK + tl.arange(0, BLOCK)"]
    else:
        head = ["for off in range(0, cols, BLOCK):", "    c = off + tl.arange(0, BLOCK)"]
    named = pick.yes()
    mask = "mask" if named else "c < cols"
    inside = [*(["mask = c < cols"] if named else []), *(r.replace("{mask}", mask) for r in rows), *behind]
    return [*before, *head, *(f"    {r}" for r in inside)]


def blocks(pick: Pick) -> Sample:
    """A row in blocks: one, two or three loops over it."""
    draft = Draft(pick, "blocks_kernel", "rows, cols")
    name = pick.of("layer", "layer", "softmax", "softmax", "rms", "extent", "moments")
    dtype = pick.of("float32", "float32", "float16")
    counted, vector = pick.yes(0.3), pick.yes(0.5)
    kind = f", dtype=torch.{dtype}"
    draft.tensor("x_ptr", "x", f"fill(rows, cols{kind})")
    zero = "tl.zeros([BLOCK], dtype=tl.float32)" if vector else pick.of("0.0", "0.0")

    def load(other: str = "0.0") -> str:
        return f"x = tl.load(x_ptr + row * stride + c, mask={{mask}}, other={other}).to(tl.float32)"

    def total(of: str, into: str) -> str:
        return f"{into} += {of}" if vector else f"{into} += tl.sum({of}, axis=0)"

    def whole(what: str) -> str:
        return f"tl.sum({what}, axis=0)" if vector else what

    body = ["row = tl.program_id(0)" + pick.of("", ".to(tl.int64)")]
    store = "tl.store(out_ptr + row * stride + c, {r}, mask={mask})"
    weight = pick.yes()
    scaled, tensors = "", ""
    if weight:
        draft.tensor("w_ptr", "w", f"fill(cols{kind})")
        scaled, tensors = " * tl.load(w_ptr + c, mask={mask}, other=0.0)", " * w"
    if name == "layer":
        where = pick.of("d = tl.where({mask}, x - mean, 0.0)", "d = tl.where({mask}, x - mean, 0.)")
        body += [f"total = {zero}", *_loop(pick, counted, [load(), total("x", "total")]), f"mean = {whole('total')} / cols"]
        body += [f"squares = {zero}", *_loop(pick, counted, [load(), where, total("d * d", "squares")])]
        body += [f"rstd = 1 / tl.sqrt({whole('squares')} / cols + eps)"]
        body += _loop(pick, counted, [load(), store.replace("{r}", f"(x - mean) * rstd{scaled}")])
        reference = "(x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)"
    elif name == "softmax":
        low = '-float("inf")'
        body += [f"m = {low}" if pick.yes() else f"m = tl.full([], {low}, dtype=tl.float32)"]
        body += _loop(pick, counted, [load(low), "m = tl.maximum(m, tl.max(x, axis=0))"])
        body += ["s = 0.0", *_loop(pick, counted, [load(low), "s += tl.sum(tl.exp(x - m), axis=0)"])]
        body += _loop(pick, counted, [load(low), store.replace("{r}", f"tl.exp(x - m) / s{scaled}")])
        reference = "torch.softmax(x, -1)"
        if pick.yes():
            draft.passed.append(("lse_ptr", "lse"))
            draft.host.append("lse = torch.empty(x.shape[0])")
            body.append("tl.store(lse_ptr + row, m + tl.log(s))")
            draft.result = "out, lse"
    elif name == "rms":
        body += [f"squares = {zero}", *_loop(pick, counted, [load(), total("x * x", "squares")])]
        body += [
            f"rms = tl.sqrt({whole('squares')} / cols + eps)",
            *_loop(pick, counted, [load(), store.replace("{r}", f"x / rms{scaled}")]),
        ]
        reference = "x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)"
    else:
        body += ["top = -float('inf')" if name == "extent" else f"total = {zero}"]
        first = "top = tl.maximum(top, tl.max(tl.abs(x), axis=0))" if name == "extent" else total("x", "total")
        body += _loop(pick, counted, [load(), first])
        body += [f"squares = {zero}", *_loop(pick, counted, [load(), total("x * x", "squares")])]
        body += [f"f = {'top' if name == 'extent' else whole('total')} / ({whole('squares')} + eps)"]
        body += _loop(pick, counted, [load(), store.replace("{r}", f"x * f{scaled}")])
        head = "x.abs().amax(-1, keepdim=True)" if name == "extent" else "x.sum(-1, keepdim=True)"
        reference = f"x * ({head} / ((x * x).sum(-1, keepdim=True) + 1e-5))"
    draft.body = body
    draft.passed += [("out_ptr", "out"), ("stride", "x.stride(0)"), ("cols", "cols")]
    draft.passed += [] if name == "softmax" else [("eps", "1e-5")]
    draft.host += ["rows, cols = x.shape", "out = torch.empty_like(x)" if pick.yes(0.7) else "out = x"]
    draft.blocks["BLOCK"] = pick.choice((32, 32, 64, "min(64, max(16, triton.next_power_of_2(cols)))"))
    draft.sides.append(("rows", None))
    return finished(f"blocks {name} {counted} {vector}", draft, pick.choice(LONG), LONG_STRESS, reference=[f"return {reference}{tensors}"])


def groups(pick: Pick) -> Sample:
    """What a block makes of its elements is a result: a scale for each group, a partial sum for each program, a sum so far."""
    draft = Draft(pick, "groups_kernel", "rows, cols")
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    draft.passed += [("out_ptr", "out"), ("part_ptr", "part"), ("cols", "cols"), ("parts", "part.shape[1]")]
    block, style = pick.number(16, 32), pick.of("scale", "partial", "so far", "count", "largest", "mean", "short")
    draft.blocks["BLOCK"] = block
    draft.host += ["rows, cols = x.shape", "out = torch.zeros_like(x)", f"part = torch.zeros(rows, triton.cdiv(cols, {block}))"]
    draft.result = pick.of("out, part", "out, part.sum(1)") if style == "partial" else "out, part"
    load = "x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)"
    if style in ("scale", "partial"):
        looped = pick.yes()
        made = ["s = tl.max(tl.abs(x), axis=0) + 1.0" if style == "scale" else "s = tl.sum(x, axis=0)"]
        steps = [load, *made, f"tl.store(out_ptr + row * cols + c, x {'/ s' if style == 'scale' else '* 2.0'}, mask=c < cols)"]
        if looped:
            steps.append("tl.store(part_ptr + row * parts + off // BLOCK, s)")
            draft.body += [
                "row = tl.program_id(0)",
                "for off in range(0, cols, BLOCK):",
                "    c = off + tl.arange(0, BLOCK)",
                *(f"    {r}" for r in steps),
            ]
            draft.sides = [("rows", None)]
        else:
            steps.append("tl.store(part_ptr + row * parts + pid, s)")
            draft.body += ["pid = tl.program_id(0)", "row = tl.program_id(1)", "c = pid * BLOCK + tl.arange(0, BLOCK)", *steps]
            draft.sides = [("cols", "BLOCK"), ("rows", None)]
    else:
        steps, after = {
            "so far": (["tl.store(out_ptr + row * cols + c, t + x, mask=c < cols)", "t += tl.sum(x, axis=0)"], "t"),
            "count": (["t += 1.0"], "t"),
            "largest": (["t += tl.max(x, axis=0)"], "t"),
            "short": (["t += tl.sum(x, axis=0)"], "t"),
            "mean": (
                [
                    "t += x",
                ],
                "tl.max(t, axis=0)",
            ),
        }[style]
        end = "cols - 1" if style == "short" else "cols"
        start = "tl.zeros([BLOCK], dtype=tl.float32)" if style == "mean" else "0.0"
        draft.body += ["row = tl.program_id(0)", f"t = {start}", f"for off in range(0, {end}, BLOCK):", "    c = off + tl.arange(0, BLOCK)"]
        draft.body += [f"    {r}" for r in (load, *steps)] + [f"tl.store(part_ptr + row * parts, {after})"]
        draft.sides = [("rows", None)]
    return finished(
        f"groups {style}", draft, pick.choice((((5, 80), (4, 64)), ((4, 128),), ((3, 100), (6, 50)))), ((1, 1), (2, 33), (3, 31), (2, 129))
    )


def columns(pick: Pick) -> Sample:
    """Sums over all rows, a strip of columns for each program."""
    draft = Draft(pick, "columns_kernel", "rows, cols")
    dtype = pick.of("float32", "float16")
    draft.tensor("x_ptr", "x", f"fill(rows, cols, dtype=torch.{dtype})")
    draft.passed += [("out_ptr", "out"), ("rows", "rows"), ("cols", "cols"), ("stride", "x.stride(0)")]
    single, scaled = pick.yes(0.4), pick.yes(0.4)
    if single:
        draft.body += [
            "c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)",
            "acc = tl.zeros([BLOCK_C], dtype=tl.float32)",
            "for r in range(rows):",
            "    acc += tl.load(x_ptr + r * stride + c, mask=c < cols, other=0.0).to(tl.float32)",
        ]
    else:
        draft.body += [
            "c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)",
            "acc = tl.zeros([BLOCK_C], dtype=tl.float32)",
            "for start in range(0, rows, BLOCK_R):",
            "    r = start + tl.arange(0, BLOCK_R)",
            "    mask = (r[:, None] < rows) & (c[None, :] < cols)",
            "    x = tl.load(x_ptr + r[:, None] * stride + c[None, :], mask=mask, other=0.0).to(tl.float32)",
            "    acc += tl.sum(x, axis=0)",
        ]
    value = "acc / rows" if scaled else "acc"
    out = pick.of("float32", "float16")
    draft.body.append(f"tl.store(out_ptr + c, {value}{'.to(tl.float16)' if out == 'float16' else ''}, mask=c < cols)")
    make = pick.of("empty", "zeros")
    draft.host += ["rows, cols = x.shape", f"out = torch.{make}(cols, dtype=torch.{out})"]
    draft.blocks = {**({} if single else {"BLOCK_R": 8}), "BLOCK_C": pick.number(16, 32)}
    draft.sides.append(("cols", "BLOCK_C"))
    reference = "x.mean(0)" if scaled else "x.sum(0)"
    return finished(
        f"columns {single}",
        draft,
        pick.choice((((128, 40), (100, 64)), ((128, 32),), ((67, 33), (90, 48)))),
        ((1, 1), (65, 17), (31, 129), (140, 5), (0, 16), (16, 0)),
        way=pick.of("direct", "direct", "twice", "alias"),
        reference=[f"return {reference}"],
    )

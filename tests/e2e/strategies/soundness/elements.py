"""Random programs of one element after the other: lines, tiles, rows of a table, heads that share their angles."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import WAYS, Draft, Pick, Sample, finished

LINES = (((96,), (200,)), ((128,), (256,), (64,)), ((40,), (24,)), ((131,), (257,)), ((192,),))
LINE_STRESS = ((1,), (2,), (31,), (97,), (127,), (129,), (401,), (0,))
#: What is multiplied with an element. The first two say where it lies, whatever the size of its block.
TOLD = (
    *("(1 + offs)", "tl.where(offs < 3, 2.0, 1.0)", "(1 + tl.arange(0, BLOCK))", "(1 + pid * BLOCK)", "BLOCK", "tl.num_programs(0)"),
    *("tl.where(tl.arange(0, BLOCK) < 3, 2.0, 1.0)", "tl.where(offs >= BLOCK, 2.0, 1.0)", "tl.load(x_ptr + pid * BLOCK)"),
    *("tl.where(tl.arange(0, BLOCK) == n - 1 - pid * BLOCK, 2.0, 1.0)", "(1 + offs // BLOCK)"),
)


def line(pick: Pick) -> Sample:
    """``out[i] = f(x[i], ...)`` in one dimension."""
    draft = Draft(pick, "line_kernel", "n")
    dtype = pick.of("float32", "float32", "float16")
    made = f"fill(n, dtype=torch.{dtype})"
    offsets = pick.of("plain", "plain", "plain", "wide", "shifted", "ahead", "behind", "stride")
    way = pick.of("direct", "direct", "direct", *WAYS)
    count = pick.of("n", "n", "n", "n", "2 * n", "n + 7", "n - 1 if n > 1 else n")
    out = pick.of("torch.empty_like(x)", "torch.zeros_like(x)", "torch.zeros(n, dtype=x.dtype)", "x", "given", "given")
    if out == "x" and offsets == "stride":
        way = "direct"  # a clone has other strides
    draft.tensor("x_ptr", "x", made if offsets != "stride" else f"fill(3 * n, dtype=torch.{dtype})[::3]")
    draft.host.append("n = x.numel()")
    start = pick.yes(0.3)
    draft.body += [
        "pid = tl.program_id(0)" + (".to(tl.int64)" if offsets == "wide" else ""),
        *(["if pid * BLOCK >= n:", "    return"] if pick.yes(0.2) and way != "called" else []),
        *(["start = pid * BLOCK"] if start else []),
    ]
    first = "start" if start else "pid * BLOCK"
    if offsets == "shifted":
        first = f"1 + {first}"
    draft.body.append(pick.of(f"offs = {first} + tl.arange(0, BLOCK)", f"offs = tl.arange(0, BLOCK) + {first}"))
    draft.body.append("mask = " + {"ahead": "offs + 1 < n", "behind": "(offs < n) & (offs >= 1)"}.get(offsets, "offs < n"))
    at = {"ahead": "offs + 1", "behind": "offs - 1", "stride": "offs * stride"}.get(offsets, "offs")
    if out == "x" and offsets in ("ahead", "behind"):
        at = "offs"  # else a program would read what another one writes
    draft.body.append(f"x = tl.load(x_ptr + {at}, mask=mask{pick.of('', ', other=0.0', ', other=1.0')})")
    value = pick.of("x * 1.5", "x * x + 1.5", "tl.exp(x.to(tl.float32)) + 1.5", "tl.where(x > 0, x, 1.5 * x)", "x / 1.5")
    draft.body.append(f"r = {value}")
    if pick.yes(0.4):
        draft.tensor("y_ptr", "y", made)
        draft.number("scale", "0.5")
        draft.body += ["y = tl.load(y_ptr + offs, mask=mask)", "r = r + y * scale"]
    if pick.yes(0.3):
        draft.helpers.append("@triton.jit\ndef clipped(v):\n    return tl.maximum(v, -2.0)\n")
        draft.body.append("r = clipped(r)")
    if pick.yes(0.25):
        draft.blocks["TAPS"] = pick.choice((4, 4, "taps"))
        if draft.blocks["TAPS"] == "taps":
            draft.given.append(("taps", "3 + n % 2"))
        draft.body += ["for i in range(TAPS):", f"    r = r + tl.load(x_ptr + {at}, mask=mask) * 0.25"]
    if pick.yes(0.2):
        draft.tensor("g_ptr", "g", "fill(n)")
        draft.blocks["GROUP"] = 8
        draft.body.append("r = r * tl.load(g_ptr + offs // GROUP, mask=mask, other=0.0)")
    if pick.yes(0.15):  # says where an element lies in its block
        draft.body.append(pick.of(*(f"r = r * {told}" for told in TOLD)))
    if pick.yes(0.3):
        draft.tensor("b_ptr", "b", f"None if n % 3 == 0 else {made}")
        draft.body += ["if b_ptr is not None:", "    r = r + tl.load(b_ptr + offs, mask=mask)"]
    draft.passed += [("out_ptr", "out"), ("n", "n"), *([("stride", "x.stride(0)")] if offsets == "stride" else [])]
    draft.body.append(f"tl.store(out_ptr + {'offs * stride' if out == 'x' and offsets == 'stride' else 'offs'}, r, mask=mask)")
    draft.blocks["BLOCK"] = pick.number(16, 32, 64)
    draft.sides.append((count if way != "passed" or " if " not in count else "n", "BLOCK"))
    if " if " in draft.sides[0][0]:
        draft.host.append(f"some = {count}")
        draft.sides[0] = ("some", "BLOCK")
    if out == "given":
        draft.given.append(("out", made))
    else:
        draft.host.append(f"out = {out}")
    if pick.yes(0.2):
        draft.between = ["n = n - 3 if n > 3 else n"]
    if pick.yes(0.15):
        draft.body.insert(0, "n = n - 1")
    if way in ("direct", "twice", "alias") and "taps" not in draft.blocks.values() and pick.yes(0.25):
        draft.style = "tuned"
    return finished(f"line {offsets} {count} {out}", draft, pick.choice(LINES), LINE_STRESS, way=way, change=("1.5", "2.5"))


TILES = (((40, 64), (24, 96)), ((33, 130), (64, 128)), ((8, 32), (16, 32)), ((16, 64),))
TILE_STRESS = ((1, 1), (1, 65), (17, 1), (31, 63), (9, 33), (0, 8), (8, 0))


def tile(pick: Pick) -> Sample:
    """Two dimensions, with a row or column that all share, strides, and tiles counted along one, two or three axes."""
    draft = Draft(pick, "tile_kernel", "rows, cols")
    ids = pick.of("two", "two", "swapped", "one", "batched")
    strided, copied, wide = pick.yes(0.6), pick.yes(), pick.of("", "arange", "pid")
    batched = ids == "batched"
    made = "fill(3, rows, cols)" if batched else "fill(rows, cols)"
    if strided and not batched and (copied or pick.yes()):
        made = "fill(cols, rows).t() if rows % 2 == 0 else fill(rows, 2 * cols)[:, ::2]"
    onto = strided and copied and not batched and pick.yes(0.4)  # the result goes where x comes from
    if onto:
        made = "(base := fill(cols, rows)).t()"
    draft.tensor("x_ptr", "x", made)
    draft.host.append(("batch, " if batched else "") + "rows, cols = x.shape")
    if strided and copied:
        draft.host.append("x = x.contiguous()")
    if onto:
        draft.given.append(("out", "base"))
    else:
        draft.host.append(f"out = torch.{pick.of('empty', 'zeros')}(x.shape, dtype=x.dtype)")
    if ids == "one":
        draft.body += ["pid = tl.program_id(0)", "num_c = tl.cdiv(cols, BLOCK_C)", "pid_r = pid // num_c", "pid_c = pid % num_c"]
    else:
        first, second = (1, 0) if ids == "swapped" else (0, 1)
        draft.body += [f"pid_r = tl.program_id({first})", f"pid_c = tl.program_id({second})"]
    if batched:
        draft.body += ["batch = tl.program_id(2)", "x_ptr += batch * rows * cols", "out_ptr += batch * rows * cols"]
    draft.body += [
        {
            "": "r = pid_r * BLOCK_R + tl.arange(0, BLOCK_R)",
            "arange": "r = (pid_r * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)",
            "pid": "r = pid_r.to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)",
        }[wide],
        "c = pid_c * BLOCK_C + tl.arange(0, BLOCK_C)",
        pick.of("mask = (r[:, None] < rows) & (c[None, :] < cols)", "mask = (r < rows)[:, None] & (c < cols)[None, :]"),
    ]
    at = "r[:, None] * stride_xr + c[None, :] * stride_xc" if strided else "r[:, None] * cols + c[None, :]"
    draft.body.append(f"x = tl.load(x_ptr + {at}, mask=mask{pick.of('', ', other=0.0')})")
    value = "x * 2.0"
    if pick.yes(0.6):
        draft.tensor("s_ptr", "s", "fill(cols)")
        draft.body.append("s = tl.load(s_ptr + c, mask=c < cols, other=0.0)")
        value = f"{value} * s[None, :]"
    if pick.yes(0.6):
        draft.tensor("t_ptr", "t", "fill(rows)")
        draft.body.append("t = tl.load(t_ptr + r, mask=r < rows, other=0.0)")
        value = f"{value} + t[:, None]"
    draft.body.append(f"tl.store(out_ptr + r[:, None] * cols + c[None, :], {value}, mask=mask)")
    draft.passed += [("out_ptr", "out"), ("rows", "rows"), ("cols", "cols")]
    if strided:
        draft.passed += [("stride_xr", f"x.stride({int(batched)})"), ("stride_xc", f"x.stride({1 + batched})")]
        if batched:
            draft.body = [row.replace("x_ptr += batch * rows * cols", "x_ptr += batch * stride_xb") for row in draft.body]
            draft.passed.append(("stride_xb", "x.stride(0)"))
    draft.blocks = {"BLOCK_R": pick.number(4, 8, 16), "BLOCK_C": pick.number(16, 32)}
    draft.sides = [("rows", "BLOCK_R"), ("cols", "BLOCK_C"), *([("batch", None)] if batched else [])]
    if ids == "swapped":
        draft.sides.reverse()
    draft.product = ids == "one"
    way = pick.of("direct", "direct", "direct", *WAYS) if not copied or pick.yes(0.3) else "direct"
    draft.style = "tuned" if way == "direct" and pick.yes(0.3) else ""
    return finished(f"tile {ids}", draft, pick.choice(TILES), TILE_STRESS, way=way, change=("2.0", "3.0"))


def table(pick: Pick) -> Sample:
    """Rows that a table of indices names: gathered, or scattered to places of their own."""
    scatter = pick.yes(0.4)
    draft = Draft(pick, "table_kernel", "count, cols")
    draft.tensor("x_ptr", "x", "fill(count, cols)")
    draft.tensor("index_ptr", "index", "torch.randperm(count)" if scatter else "torch.randint(0, max(count, 1), (2 * count,))")
    draft.passed += [("out_ptr", "out"), ("cols", "cols")]
    wide = pick.yes()
    draft.body += ["row = tl.program_id(0)" + (".to(tl.int64)" if wide else ""), "at = tl.load(index_ptr + row)"]
    source, into = ("row", "at") if scatter else ("at", "row")
    looped = pick.yes()
    rows = [f"x = tl.load(x_ptr + {source} * cols + c, mask=c < cols)", f"tl.store(out_ptr + {into} * cols + c, x, mask=c < cols)"]
    if looped:
        draft.body += ["for off in range(0, cols, BLOCK):", "    c = off + tl.arange(0, BLOCK)", *(f"    {r}" for r in rows)]
        draft.blocks["BLOCK"] = 16
    else:
        draft.body += ["c = tl.arange(0, BLOCK)", *rows]
        draft.blocks["BLOCK"] = "triton.next_power_of_2(cols)"
    draft.host += ["cols = x.shape[1]", f"out = torch.{pick.of('zeros', 'empty')}((index.numel(), cols))"]
    draft.sides.append(("index.numel()", None))
    return finished(
        f"table {scatter} {looped}",
        draft,
        pick.choice((((6, 40), (9, 64)), ((12, 32),), ((5, 24), (8, 24)))),
        ((1, 1), (3, 17), (7, 65), (0, 4), (4, 41)),
    )


def heads(pick: Pick) -> Sample:
    """A row of angles that all heads of a token share."""
    draft = Draft(pick, "heads_kernel", "tokens, heads, dim")
    inplace = pick.yes(0.4)
    draft.tensor("x_ptr", "x", "fill(tokens, heads, dim)")
    draft.tensor("cos_ptr", "cos", "fill(tokens, dim)")
    draft.passed += [("out_ptr", "out"), ("stride", "x.stride(0)"), ("dim", "dim")]
    draft.host += ["tokens, heads, dim = x.shape", "out = x" if inplace else "out = torch.empty_like(x)"]
    if pick.yes(0.4):
        draft.blocks["FLIP"] = "tokens % 2 == 0"
    ids = ["token = tl.program_id(0)", "head = tl.program_id(1)"]
    draft.body += [
        *(ids if pick.yes() else ids[::-1]),
        "cols = tl.arange(0, BLOCK)",
        "mask = cols < dim",
        "cos = tl.load(cos_ptr + token * dim + cols, mask=mask, other=0.0)",
        *(["if FLIP:", "    cos = -cos"] if "FLIP" in draft.blocks else []),
        "x = tl.load(x_ptr + token * stride + head * dim + cols, mask=mask, other=0.0)",
        "tl.store(out_ptr + token * stride + head * dim + cols, x * cos, mask=mask)",
    ]
    draft.blocks["BLOCK"] = "triton.next_power_of_2(dim)"
    draft.sides = [("tokens", None), ("heads", None)]
    draft.style = "literal"
    way = pick.of("direct", "direct", "alias", "called", "twice" if not inplace else "direct")
    return finished(
        f"heads {inplace}",
        draft,
        pick.choice((((10, 4, 16), (9, 3, 12)), ((12, 2, 16),))),
        ((1, 1, 1), (7, 5, 9), (11, 2, 20), (0, 2, 4), (8, 3, 33)),
        way=way,
    )

"""Random programs of long rows without reductions, of programs for multiprocessors, and of tiles that heuristics make; with near misses."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import Draft, Pick, Sample, finished

PLACE = "@triton.jit\ndef place(axis):\n    return tl.program_id(axis).to(tl.int64)\n"
COUNT = "def get_sm_count():\n    return 3\n"


def gates(pick: Pick) -> Sample:
    """A long row for each program, element by element; what ties elements together, or is read where another part writes, is a miss."""
    draft = Draft(pick, "gate_kernel", "rows, cols")
    style = pick.of("plain", "plain", "gated", "onto", "first", "behind", "sum", "length")
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    draft.host.append("rows, cols = x.shape")
    onto = style in ("onto", "first", "behind") and pick.yes(0.8)
    draft.host.append("out = x" if onto else "out = torch.empty_like(x)")
    draft.passed += [("out_ptr", "out"), ("cols", "cols")]
    length = "cols" if style != "length" else "cols - 1"
    ids = pick.of("row = tl.program_id(0)", "row = tl.program_id(0).to(tl.int64)", "row = place(0)")
    if "place" in ids:
        draft.helpers.append(PLACE)
    draft.body += [ids, "c = tl.arange(0, BLOCK)", f"mask = c < {length}"]
    if style == "behind":
        draft.body.append("x = tl.load(x_ptr + row * cols + c + 1, mask=c + 1 < cols, other=0.0)")
    else:
        draft.body.append(f"x = tl.load(x_ptr + row * cols + c, mask=mask{pick.of('', ', other=0.0')})")
    draft.body.append("r = tl.where(x > 0, x * 2.0, tl.exp(x))")
    if style == "gated":
        draft.tensor("g_ptr", "g", "fill(rows, cols)")
        draft.body.append("r = r * tl.load(g_ptr + row * cols + c, mask=mask, other=0.0)")
    if style == "first":
        draft.body.append("r = r + tl.load(x_ptr + row * cols)")
    if style == "sum":
        draft.body.append("r = r + tl.sum(tl.where(mask, x, 0.0), axis=0)")
    if pick.yes(0.4):
        draft.tensor("b_ptr", "b", "None if cols % 3 == 0 else fill(cols)")
        draft.body += ["if b_ptr is not None:", "    r = r + tl.load(b_ptr + c, mask=c < cols, other=0.0)"]
    draft.body.append("tl.store(out_ptr + row * cols + c, r, mask=mask)")
    draft.blocks["BLOCK"] = pick.of(
        "triton.next_power_of_2(cols)", "max(2048, triton.next_power_of_2(cols))", "1 << (cols - 1).bit_length()"
    )
    draft.sides.append(("rows", None))
    draft.style = pick.of("literal", "variable")
    return finished(
        f"gates {style}",
        draft,
        pick.choice((((3, 1100), (2, 1500)), ((2, 2000),), ((2, 1030), (3, 1290)))),
        ((1, 1), (2, 513), (1, 2100), (3, 1024), (2, 1537)),
        way=pick.of("direct", "direct", "alias", "condition") if not onto else "direct",
        change=("2.0", "3.0"),
    )


def counted(pick: Pick) -> Sample:
    """Programs that share rows among them, in turns or in pieces, and leave a partial sum each; the host function counts them."""
    draft = Draft(pick, "counted_kernel", "rows, cols")
    turns = pick.yes()
    draft.helpers.append(COUNT)
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    where = pick.of("once", "once", "twice", "beside")
    count = "get_sm_count()"
    if where == "beside":  # another function counts them as well
        draft.helpers.append("def room_for(cols):\n    return torch.zeros(get_sm_count(), cols)\n")
    elif where == "once":
        draft.host.append(f"programs = {count}")
        count = "programs"
    draft.host += ["rows, cols = x.shape", "out = torch.empty_like(x)"]
    draft.host.append("part = room_for(cols)" if where == "beside" else f"part = torch.empty({count}, cols)")
    draft.passed += [("out_ptr", "out"), ("part_ptr", "part"), ("rows", "rows"), ("cols", "cols")]
    if turns:
        draft.body += ["first = tl.program_id(0)", "last = rows", "by = tl.num_programs(0)"]
    else:
        draft.host.append(f"each = triton.cdiv(rows, {count})")
        draft.passed.append(("each", "each"))
        draft.body += ["first = tl.program_id(0) * each", "last = tl.minimum(first + each, rows)", "by = 1"]
    draft.body += [
        "c = tl.arange(0, BLOCK)",
        "mask = c < cols",
        "total = tl.zeros([BLOCK], dtype=tl.float32)",
        "for row in range(first, last, by):",
        "    x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0)",
        "    total += x * x",
        "    tl.store(out_ptr + row * cols + c, x * 2.0, mask=mask)",
        "tl.store(part_ptr + tl.program_id(0) * cols + c, total, mask=mask)",
    ]
    draft.blocks["BLOCK"] = "triton.next_power_of_2(cols)"
    draft.sides.append((count, None))
    draft.style = pick.of("literal", "variable")
    draft.result = "out + part.sum(0)"
    return finished(
        f"counted {'turns' if turns else 'pieces'} {where}",
        draft,
        pick.choice((((12, 24), (9, 40)), ((16, 64),), ((20, 33), (7, 17)))),
        ((1, 1), (2, 17), (3, 63), (31, 5), (0, 8)),
    )


def computed(pick: Pick) -> Sample:
    """Tiles whose sides a heuristic computes; a result that hangs on how elements are dealt out to them is a miss."""
    draft = Draft(pick, "computed_kernel", "rows, cols")
    style = pick.of("tile", "sum", "sum", "kept", "kept", "partial", "mean", "unguarded")
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    draft.host.append("rows, cols = x.shape")
    draft.body += ["r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)"]
    load = "x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=mask, other=0.0)"
    if style == "tile":
        draft.host.append("out = torch.empty_like(x)")
        draft.body += ["c = tl.program_id(1) * COLS + tl.arange(0, COLS)", "mask = (r[:, None] < rows) & (c[None, :] < cols)", load]
        draft.body.append("tl.store(out_ptr + r[:, None] * cols + c[None, :], x * 2.0, mask=mask)")
        draft.sides = [("rows", "ROWS"), ("cols", "COLS")]
    else:
        draft.host.append("out = torch.zeros(rows)" if style != "partial" else "out = torch.zeros(rows + 1)")
        of = "x" if style != "mean" else "x / COLS"
        guard = "(r[:, None] < rows) & (c[None, :] < cols)" if style != "unguarded" else "c[None, :] < cols"
        draft.body += [
            "total = tl.zeros([ROWS, COLS], dtype=tl.float32)",
            "for off in range(0, cols, COLS):",
            "    c = off + tl.arange(0, COLS)",
            f"    mask = {guard}",
            f"    {load}",
            f"    total += {of}",
        ]
        if style == "kept":
            draft.body += ["total = tl.sum(total, axis=1, keep_dims=True)", "tl.store(out_ptr + r[:, None], total, mask=r[:, None] < rows)"]
        elif style == "partial":
            draft.body += ["s = tl.sum(tl.sum(total, axis=1), axis=0)", "tl.store(out_ptr + tl.program_id(0), s)"]
        else:
            draft.body += ["total = tl.sum(total, axis=1)", "tl.store(out_ptr + r, total, mask=r < rows)"]
        draft.sides = [("rows", "ROWS")]
    draft.passed += [("out_ptr", "out"), ("rows", "rows"), ("cols", "cols")]
    draft.blocks = {"ROWS": pick.number(1, 2, 4) if style != "unguarded" else 1, "COLS": pick.number(16, 32)}
    draft.style = pick.of("heuristic", "heuristics")
    return finished(
        f"computed {style}", draft, pick.choice((((12, 24), (9, 40)), ((16, 64),), ((20, 33), (7, 17)))), ((1, 1), (2, 17), (31, 5), (0, 8))
    )

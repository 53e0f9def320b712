"""Random programs with loops in which iterations meet: recurrences, running sums, triangles, rows that a few programs walk over."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import Draft, Pick, Sample, finished

STEPS = (((12, 40), (9, 64)), ((16, 32),), ((7, 24), (11, 24)))
STEP_STRESS = ((1, 1), (5, 33), (3, 65), (17, 16), (0, 8), (2, 31))


def recurrence(pick: Pick) -> Sample:
    """``y[t] = x[t] + a * y[t - D]``, y in various memories."""
    draft = Draft(pick, "recurrence_kernel", "steps, cols")
    distance = pick.number(1, 2, 3, 4)
    where = pick.of("fresh", "fresh", "given", "same", "view", "apart", "apart")
    source = "x_ptr" if where == "apart" else "y_ptr"
    draft.tensor("x_ptr", "x", "fill(steps, cols)")
    draft.passed += [("y_ptr", "y")]
    coefficient = pick.of("", "load", "row")
    if coefficient == "load":
        draft.tensor("a_ptr", "a", "fill(cols)")
    elif coefficient == "row":
        draft.passed.append(("a_ptr", {"apart": "x[0]", "given": "y[-1]", "fresh": "y[0]", "same": "x[0]", "view": "y[0]"}[where]))
    draft.passed += [("steps", "steps"), ("cols", "cols")]
    if pick.yes():
        draft.passed.append(("D", str(distance)))
    else:
        draft.blocks["D"] = distance
    ranged = pick.of("range(0, steps)", "range(steps)", "tl.range(0, steps)", "range(0, steps, 1)")
    draft.body += [
        "c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "mask = c < cols",
        f"for t in {ranged}:",
        "    x = tl.load(x_ptr + t * cols + c, mask=mask)",
        *(["    a = tl.load(a_ptr + c, mask=mask, other=0.0)"] if coefficient else []),
        f"    before = tl.load({source} + (t - D) * cols + c, mask=mask & (t >= D), other=0.0)",
        f"    tl.store(y_ptr + t * cols + c, x + {'a' if coefficient else '0.5'} * before, mask=mask)",
    ]
    draft.host.append("steps, cols = x.shape")
    if where == "given" or (where == "apart" and pick.yes(0.3)):
        draft.given.append(("y", "fill(steps, cols)"))
    elif where == "same":
        draft.host.append("y = x")
    elif where == "view":
        draft.host += ["y = torch.empty(steps, cols)", "y.copy_(x)", "x = y.view(steps, cols)"]
    else:
        draft.host.append("y = torch.empty_like(x)")
    draft.blocks["BLOCK"] = pick.number(16, 32)
    draft.sides.append(("cols", "BLOCK"))
    draft.result = "y"
    return finished(
        f"recurrence {distance} {where} {coefficient}", draft, pick.choice(STEPS), STEP_STRESS, way=pick.of("direct", "direct", "alias")
    )


def states(pick: Pick) -> Sample:
    """``h[t] = x[t] + h[t - D] @ w``: a recurrence through a product, whose loads the launch's num_stages has run ahead."""
    draft = Draft(pick, "states_kernel", "steps, batch")
    distance = pick.number(1, 2, 3, 4)
    where = pick.of("fresh", "given", "apart")
    source = "x_ptr" if where == "apart" else "h_ptr"
    draft.tensor("x_ptr", "x", "fill(steps, 16 * batch, 16)")
    draft.tensor("w_ptr", "w", "fill(16, 16)")
    draft.passed += [("h_ptr", "h"), ("steps", "steps"), ("stride", "x.stride(0)")]
    draft.blocks = {"D": distance, "S": 16}
    draft.body += [
        "r = tl.program_id(0) * S + tl.arange(0, S)",
        "c = tl.arange(0, S)",
        "at = r[:, None] * S + c[None, :]",
        "w = tl.load(w_ptr + c[:, None] * S + c[None, :])",
        f"for t in {pick.of('range', 'tl.range')}(0, steps):",
        f"    before = tl.load({source} + (t - D) * stride + at, mask=(at >= 0) & (t >= D), other=0.0)",
        "    now = tl.load(x_ptr + t * stride + at)",
        "    tl.store(h_ptr + t * stride + at, now + tl.dot(before, w))",
    ]
    draft.host.append("steps, rows, _ = x.shape")
    if where == "given":
        draft.given.append(("h", "fill(steps, 16 * batch, 16)"))
    else:
        draft.host.append("h = torch.empty_like(x)")
    draft.sides.append(("rows // 16", None))
    draft.options = pick.choice(([], [], ["num_stages=2"], ["num_stages=4"], ["num_stages=1"]))
    draft.result = "h"
    return finished(f"states {distance} {where}", draft, pick.choice((((9, 2), (7, 3)), ((12, 2),))), ((1, 1), (5, 1), (6, 2), (0, 1)))


def running(pick: Pick) -> Sample:
    """A running sum along each row, in blocks."""
    draft = Draft(pick, "running_kernel", "rows, cols")
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    inplace = pick.yes(0.4)
    draft.passed += [("out_ptr", "out"), ("cols", "cols")]
    scan = pick.of("carry + tl.cumsum(x, axis=0)", "carry + x")
    draft.body += [
        "row = tl.program_id(0)",
        "carry = 0.0",
        "for off in range(0, cols, BLOCK):",
        "    c = off + tl.arange(0, BLOCK)",
        "    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)",
        f"    tl.store(out_ptr + row * cols + c, {scan}, mask=c < cols)",
        "    carry += tl.sum(x, axis=0)",
    ]
    draft.host += ["rows, cols = x.shape", "out = x" if inplace else "out = torch.empty_like(x)"]
    draft.blocks["BLOCK"] = pick.number(16, 32)
    draft.sides.append(("rows", None))
    name = "sum" if "cumsum" in scan else "blocks"
    reference = ["return x.cumsum(-1)"] if name == "sum" else []
    return finished(
        f"running {name}",
        draft,
        pick.choice((((5, 200), (9, 70)), ((6, 128),))),
        ((1, 1), (3, 33), (2, 31), (0, 4), (4, 257)),
        reference=reference,
    )


def walk(pick: Pick) -> Sample:
    """A few programs walk over rows, and tell what they have seen on the way."""
    draft = Draft(pick, "walk_kernel", "rows, cols")
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    draft.passed += [("out_ptr", "out"), ("part_ptr", "part"), ("rows", "rows"), ("cols", "cols")]
    style = pick.of("sum", "before", "pid", "nothing", "last")
    ranged = pick.of("range", "tl.range")
    start, step = pick.choice((("tl.program_id(0)", "tl.num_programs(0)"), ("pid", "tl.num_programs(0)"), ("pid", "many")))
    row = {"before": "x - kept", "pid": "x + pid"}.get(style, "x * 2.0")
    draft.body += [
        "pid = tl.program_id(0)",
        *(["many = tl.num_programs(0)"] if step == "many" else []),
        "c = tl.arange(0, BLOCK)",
        "mask = c < cols",
        *(["kept = tl.zeros([BLOCK], dtype=tl.float32)"] if style in ("sum", "before", "last") else []),
        f"for row in {ranged}({start}, rows, {step}):",
        "    x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0)",
        f"    tl.store(out_ptr + row * cols + c, {row}, mask=mask)",
        *(["    kept += x"] if style == "sum" else ["    kept = x"] if style in ("before", "last") else []),
        *(["tl.store(part_ptr + pid * cols + c, kept, mask=mask)"] if style in ("sum", "last") else []),
    ]
    draft.host += ["rows, cols = x.shape", "out = torch.empty_like(x)", "part = torch.zeros(3, cols)"]
    draft.result = pick.of("out, part", "out, part.sum(0)") if style == "sum" else "out, part"
    draft.blocks["BLOCK"] = "triton.next_power_of_2(cols)"
    draft.sides = [("min(rows, 3)", None)]
    return finished(f"walk {style}", draft, pick.choice((((14, 24), (9, 40)), ((20, 32),))), ((1, 1), (3, 17), (4, 33), (7, 64), (0, 8)))


def triangle(pick: Pick) -> Sample:
    """Sums over what comes before: programs with longer and longer loops."""
    draft = Draft(pick, "triangle_kernel", "n, batch")
    draft.tensor("x_ptr", "x", "fill(batch, n)")
    draft.passed += [("out_ptr", "out"), ("n", "n")]
    grown = pick.of("(pid + 1) * BLOCK", "tl.minimum((pid + 1) * BLOCK, n)", "tl.maximum((pid + 1) * BLOCK, BLOCK)")
    draft.body += [
        "pid = tl.program_id(0)",
        "row = tl.program_id(1)",
        "r = pid * BLOCK + tl.arange(0, BLOCK)",
        "acc = tl.zeros([BLOCK], dtype=tl.float32)",
        f"for start in range(0, {grown}, BLOCK):",
        "    c = start + tl.arange(0, BLOCK)",
        "    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)",
        "    acc += tl.sum(tl.where(r[:, None] >= c[None, :], x[None, :], 0.0), axis=1)",
        "tl.store(out_ptr + row * n + r, acc, mask=r < n)",
    ]
    draft.host += ["batch, n = x.shape", "out = torch.empty_like(x)"]
    draft.blocks["BLOCK"] = pick.number(16, 32)
    draft.sides = [("n", "BLOCK"), ("batch", None)]
    return finished(
        "triangle",
        draft,
        pick.choice((((100, 2), (64, 3)), ((128, 1),))),
        ((1, 1), (31, 2), (33, 1), (129, 1), (0, 1)),
        reference=["return x.cumsum(-1)"],
    )

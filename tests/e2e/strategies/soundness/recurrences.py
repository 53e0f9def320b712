"""Random programs whose state goes on from step to step: linear in what it was, or a near miss; places by pointers or by the step."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import Draft, Pick, Sample, finished

LINEAR = ("h = a * h + x", "h = h * 0.5 + x * a", "h += x", "h = (h + x) * a", "h = x - a * h", "h = h * a * a - x")
MISSES = ("h = tl.maximum(a * h, x)", "h = a * h * h + x", "h = a * h + x * h", "h = tl.where(x > 0.0, h + x, 0.0)")


def linear(pick: Pick) -> Sample:
    """A part of the columns for each program, over all steps."""
    draft = Draft(pick, "linear_kernel", "steps, cols")
    step = pick.of(*LINEAR, *LINEAR, *MISSES)
    by_pointer, read = pick.yes(), pick.of("after", "after", "before", "other")
    where = pick.of("fresh", "fresh", "fresh", "same")
    draft.tensor("x_ptr", "x", "fill(steps, cols)")
    draft.tensor("a_ptr", "a", "fill(steps, cols)")
    draft.passed += [("y_ptr", "y"), ("last_ptr", "last"), ("steps", "steps"), ("cols", "cols")]
    other = pick.of(", other=0.0", ", other=0.0", "")
    place = {n: f"{n}_at" if by_pointer else f"{n}_ptr + t * cols + c" for n in "xay"}
    store = f"tl.store({place['y']}, {pick.of('h', 'h * 2.0 + x', 'tl.exp(-tl.abs(h))')}, mask=mask)"
    ranged = pick.of("range(0, steps)", "range(steps)", "tl.range(0, steps)", "range(1, steps)" if not by_pointer else "range(steps)")
    draft.body += [
        "c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "mask = c < cols",
        *([f"{n}_at = {n}_ptr + c" for n in "xay"] if by_pointer else []),
        "h = tl.zeros([BLOCK], dtype=tl.float32)",
        *(["h += tl.load(x_ptr + c, mask=mask, other=0.0)"] if pick.yes(0.3) else []),
        f"for t in {ranged}:",
        f"    x = tl.load({place['x']}, mask=mask{other})",
        f"    a = tl.sigmoid(tl.load({place['a']}, mask=mask{other}))",
        *([f"    {store}", f"    {step}"] if read == "before" else [f"    {step}", f"    {store}"]),
        *([f"    {n}_at += {'0' if (n, read) == ('y', 'other') else 'cols'}" for n in "xay"] if by_pointer else []),
        *(["tl.store(last_ptr + c, h, mask=mask)"] if pick.yes() else []),
    ]
    draft.host += ["steps, cols = x.shape", "last = torch.zeros(cols)", "y = torch.zeros_like(x)" if where == "fresh" else "y = x"]
    draft.blocks["BLOCK"] = pick.number(32, 64)
    draft.sides.append(("cols", "BLOCK"))
    draft.result = "torch.cat([y, last[None]])"
    return finished(
        f"linear {step}, {'pointers' if by_pointer else 'places'}, {read} {where}",
        draft,
        pick.choice((((48, 40), (33, 64)), ((64, 32),), ((40, 24), (70, 33)))),
        ((1, 1), (35, 33), (16, 65), (31, 16), (0, 8), (2, 31)),
    )


def single(pick: Pick) -> Sample:
    """A row for each program, number by number: totals that nothing reads on the way, and near misses."""
    draft = Draft(pick, "single_kernel", "rows, cols")
    style = pick.of("softmax", "softmax", "sums", "branches", "branches", "read", "reset", "both")
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    draft.passed += [("y_ptr", "y"), ("rows", "rows"), ("cols", "cols")]
    x = "x = tl.load(x_ptr + row * cols + i)"
    put = "tl.store(y_ptr + row * cols + i, {})"
    largest = ["m = -float('inf')", "for i in range(cols):", f"    {x}", "    m = tl.maximum(m, x)"]
    summed = {
        "softmax": ["s += tl.exp(x - m)"],
        "sums": ["s += x * x", "m = tl.minimum(m, x)"],
        "branches": ["if WIDE:", "    s += x", "else:", "    s += x * 0.5"],
        "read": ["s += x", put.format("s * 0.5")],
        "reset": ["s = x + tl.where(x > 1.0, 0.0, s)"],
        "both": ["s += x", "m = m * 0.5 + s"],
    }[style]
    draft.body += [
        "row = tl.program_id(0)",
        *(largest if style in ("softmax", "branches") else ["m = 0.0"]),
        "s = 0.0" if style != "branches" else "s = 1.0",
        f"for i in {pick.of('range(cols)', 'tl.range(0, cols)')}:",
        f"    {x}",
        *(f"    {line}" for line in summed),
        *(["for i in range(cols):", f"    {x}", f"    {put.format('tl.exp(x - m) / (s + 1.0)')}"] if style != "read" else []),
    ]
    draft.host += ["rows, cols = x.shape", pick.of("y = torch.empty_like(x)", "y = torch.empty_like(x)", "y = x")]
    draft.blocks["WIDE"] = pick.number(0, 1)
    draft.sides.append(("rows", None))
    draft.result = "y"
    return finished(
        f"single {style}",
        draft,
        pick.choice((((2, 140), (1, 131)), ((2, 129),), ((1, 150), (2, 130)))),
        ((1, 1), (1, 33), (3, 0), (1, 145)),
        way=pick.of("direct", "direct", "alias"),
    )

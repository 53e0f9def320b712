"""Random programs of one row of programs that is decoded into two places, each of which walks step by step; near misses count blocks."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import Draft, Pick, Sample, finished

STEPS = 5


def placed(pick: Pick) -> Sample:
    """A part of the columns of one sheet for each program; its state goes on from step to step."""
    draft = Draft(pick, "placed_kernel", "sheets, cols")
    count = pick.of("steps", "loaded", "loaded", "sheet", "sheet", "blocks", "program")
    other = pick.of(", other=0.0", "")
    draft.tensor("x_ptr", "x", f"fill(sheets, {STEPS}, cols)")
    draft.tensor("ends_ptr", "ends", f"torch.arange(sheets) % {STEPS + 1}")
    draft.passed += [("out_ptr", "out"), ("steps", str(STEPS)), ("cols", "cols")]
    draft.body += [
        "pid = tl.program_id(0)",
        "blocks = tl.cdiv(cols, BLOCK_C)",
        *pick.choice((["place, sheet = pid % blocks, (pid // blocks).to(tl.int64)"], ["place = pid % blocks", "sheet = pid // blocks"])),
        "c = place * BLOCK_C + tl.arange(0, BLOCK_C)",
        {
            "steps": "count = steps",
            "loaded": "count = tl.load(ends_ptr + sheet)",
            "sheet": f"count = (sheet % {STEPS} + 1).to(tl.int32)",
            "blocks": "count = tl.minimum(blocks, steps)",
            "program": "count = tl.minimum(pid, steps)",
        }[count],
        "h = tl.zeros([BLOCK_C], dtype=tl.float32)",
        "for t in range(0, count):",
        "    at = (sheet * steps + t) * cols + c",
        f"    h = h * 0.5 + tl.load(x_ptr + at, mask=c < cols{other})",
        "    tl.store(out_ptr + at, h, mask=c < cols)",
    ]
    draft.host += ["sheets, _, cols = x.shape", "out = torch.zeros_like(x)"]
    draft.blocks = {"BLOCK_C": pick.number(16, 32, 64)}
    draft.sides = [("cols", "BLOCK_C"), ("sheets", None)]
    draft.product = True
    draft.style = pick.of("branches", "branches", "literal", "variable", "meta")
    draft.tuned_warps = draft.style != "literal" and pick.yes()
    return finished(
        f"placed {count}{' unfilled' if not other else ''}, {draft.style}{' tuned' if draft.tuned_warps else ''}",
        draft,
        pick.choice((((4, 100), (3, 70)), ((2, 128),), ((7, 33), (2, 129)))),
        ((1, 1), (2, 17), (5, 63), (3, 0), (9, 16)),
        way=pick.of("direct", "direct", "alias"),
    )

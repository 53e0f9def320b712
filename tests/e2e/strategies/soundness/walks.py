"""Random programs with few programs that each walk far, and make their results of what they have carried: roots, softmaxes, near misses."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import Draft, Pick, Sample, finished

ROOT = ("t = tl.zeros([BLOCK_C], dtype=tl.float32)", "h = tl.full([BLOCK_C], -1e30, dtype=tl.float32)")
ONLINE = ("h = tl.full([BLOCK_C], float('-inf'), dtype=tl.float32)", "t = tl.zeros([BLOCK_C], dtype=tl.float32)")


def carried(pick: Pick) -> Sample:
    """A strip of columns for each program, over all rows; ``o`` is what the sums and maxima come to."""
    draft = Draft(pick, "carried_kernel", "rows, cols")
    style = pick.of("root", "online", "online", "both", "unscaled", "late", "follows")
    function = pick.of("exp", "exp2")
    draft.tensor("x_ptr", "x", "fill(rows, cols)")
    draft.passed += [("out_ptr", "out"), ("rows", "rows"), ("cols", "cols")]
    load = "x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=mask, other={other})"
    mask = "mask = (r[:, None] < rows) & (c[None, :] < cols)"
    begin, steps, value = {
        "root": (ROOT, [load.format(other="0.0"), "t += tl.sum(x * x, axis=0)", "h = tl.maximum(h, tl.max(x, axis=0))"], "tl.sqrt(t) + h"),
        "follows": (ROOT, [load.format(other="0.0"), "h = tl.maximum(h, tl.max(x, axis=0))", "t += tl.sum(x, axis=0) * h"], "tl.abs(t)"),
        **{
            name: (
                (*ONLINE, "a = tl.zeros([BLOCK_C], dtype=tl.float32)"),
                [
                    load.format(other="float('-inf')"),
                    "n = tl.maximum(h, tl.max(x, axis=0))",
                    f"p = tl.{function}(x - n[None, :])",
                    f"s = tl.{function}(h - n)",
                    *(["a *= s"] if name != "late" else []),
                    "a += tl.sum(p * 0.25, axis=0)" if name != "unscaled" else "a += tl.sum(p * p, axis=0)",
                    *(["a *= s"] if name == "late" else []),
                    "t = t * s + tl.sum(p, axis=0)" if name != "both" else "t = s * t + tl.sum(p, axis=0)",
                    "h = n",
                ],
                "h + tl.log(t) + a / t",
            )
            for name in ("online", "both", "unscaled", "late")
        },
    }[style]
    draft.body += [
        "c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)",
        *begin,
        "for start in range(0, rows, BLOCK_R):",
        "    r = start + tl.arange(0, BLOCK_R)",
        f"    {mask}",
        *(f"    {s}" for s in steps),
        f"o = {value}",
        "tl.store(out_ptr + c, o, mask=c < cols)",
    ]
    draft.host += ["rows, cols = x.shape", "out = torch.empty(cols, dtype=torch.float32)"]
    draft.blocks = {"BLOCK_R": pick.number(4, 8), "BLOCK_C": pick.number(16, 32)}
    draft.sides.append(("cols", "BLOCK_C"))
    return finished(
        f"carried {style} {function}",
        draft,
        pick.choice((((128, 40), (100, 64)), ((128, 32),), ((67, 33), (90, 48)))),
        ((1, 1), (65, 17), (31, 129), (140, 5), (3, 16)),
        way=pick.of("direct", "alias"),
    )

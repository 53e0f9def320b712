"""Tiles, pipelines and orders compute what the original computes: small kernels under Triton's interpreter, in the worker's Python."""

from __future__ import annotations

import attrs
import pytest

from kernelband.strategies import strategy
from tests.e2e.strategies.comparing import differences
from tests.unit.strategies.order_samples import TEXTS, captured
from tests.unit.strategies.samples import H200, again, program_of

EACH = 2  # proposals of a move: the first and the last
SMALL = attrs.evolve(H200, multiprocessors=2)  # so that a persistent program takes several tiles of a small input
OURS = ("tiling", "pipeline", "reordering")
#: By kernel, a text that is off by a little, which the comparison must notice.
BROKEN = {
    "attention": ("(start_m + 1) * BLOCK_M", "start_m * BLOCK_M + 1"),
    "batched": ("(k + offs_k[None, :] < K)", "(k + offs_k[None, :] < K - 1)"),
    "rms_norm": ("/ n_cols + eps", "/ (n_cols + 1) + eps"),
    "row_sum": ("range(0, n_cols,", "range(BLOCK, n_cols,"),
    "scale_2d": ("x * s[None, :]", "x * s[None, :] + 0.001"),
    "rope": ("cos = -cos", "cos = -cos * 1.001"),
    "rope_3d": ("x * cos", "x * cos * 1.001"),
    "persistent_matmul": ("range(0, tl.cdiv(K, BLOCK_K))", "range(1, tl.cdiv(K, BLOCK_K))"),
}


def chosen(name, program, *, device=SMALL):
    """The first and the last proposal of each of our moves."""
    given = captured(name, program, device=device)
    # Registers are what limits programs, so that the moves for that have something to say.
    kernel = {"module": "sample", "path": program.kernel.place.path, "qualname": program.kernel.place.qualname}
    facts = {"kernel": kernel, "registers": 132, "spill_store_bytes": 0, "spill_load_bytes": 0, "shared_bytes": 1024, "num_warps": 4}
    given = attrs.evolve(given, compiled=(facts,))
    moves = {}
    for room in OURS:
        for proposal in strategy(room).propose(program, given):
            moves.setdefault((room, proposal.move), []).append(proposal)
    return {p.key: p for found in moves.values() for p in [*found[: EACH - 1], found[-1]]}


@pytest.mark.parametrize("name", TEXTS)
def test_every_move_computes_the_same(name, tmp_path):
    program = program_of(TEXTS[name], tmp_path, f"{name}.py")
    path = program.kernel.place.path
    proposals = chosen(name, program)
    broken = TEXTS[name].replace(*BROKEN[name])
    assert broken != TEXTS[name]
    texts = [TEXTS[name], broken, *(p.patch.apply(program.texts)[path] for p in proposals.values())]
    told = dict(zip(["original", "broken", *proposals], differences(texts), strict=True))
    assert told.pop("broken") is not None
    assert {k: r for k, r in told.items() if r is not None} == {}
    assert len({k.partition("(")[0] for k in proposals}) >= 3, sorted(proposals)


@pytest.mark.parametrize("name", ["rms_norm", "scale_2d", "batched", "attention"])
def test_moves_compose(name, tmp_path):
    """A variant is a parent like any other: the first proposal of each move, on the text of the one before."""
    program = program_of(TEXTS[name], tmp_path, f"{name}.py")
    path = program.kernel.place.path
    texts, told, seen = [program.texts[path]], ["original"], set[str]()
    for _ in range(6):
        proposals = chosen(name, program)
        proposal = next((p for k, p in reversed(proposals.items()) if k.partition("(")[0] not in seen), None)
        if proposal is None:
            break
        seen.add(proposal.key.partition("(")[0])
        texts.append(proposal.patch.apply(program.texts)[path])
        told.append(proposal.key)
        program = again(program, {path: texts[-1]}, tmp_path)
    assert len(texts) > 3
    assert {k: r for k, r in zip(told, differences(texts), strict=True) if r is not None} == {}

"""The same seed makes the same search whatever is fast or slow: the compilers, the device, the way to them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kernelband.propose import Draft
from kernelband.search._lab import Built
from kernelband.source import make_patch
from kernelband.source.model import Edit, Program, Span
from kernelband.strategies import Facts, Proposal

from .fake_lab import FakeAuthor, FakeExecutor, FakeLab
from .world import World, rows


class TwoAtATime(FakeAuthor):
    """One arm that needs the compilers again and again, with a move that is wrong at first."""

    def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
        ((path, text),) = program.texts.items()
        found = re.search(r"BLOCK=(\d+)", text)
        assert found is not None
        out: list[Proposal] = []
        if strategy == "tiling" and found[1] == "16":
            for move, block, trouble in (("risky", 32, "wrong"), ("risky", 64, "wrong"), ("risky", 48, ""), ("sound", 128, "")):
                edits = [Edit(Span(*found.span(1)), str(block))]
                if trouble:
                    edits.append(Edit(Span(len(text), len(text)), f"# MAKE {trouble}\n"))
                patch = make_patch(program.texts, {path: edits})
                out.append(Proposal(strategy, move, {"BLOCK": block}, patch, "exact", f"BLOCK {block}", "test"))
        new = [p for p in out if p.key not in already]
        return Draft(tuple(new[:2]), exhausted=len(new) <= 2)


def slow_device(lab: FakeLab) -> Callable[[], FakeExecutor]:
    class Slow(FakeExecutor):
        def call(self, operation: str, *rest: Any, **more: Any) -> dict[str, Any]:
            time.sleep(0.05 if operation == "check" else 0)
            return super().call(operation, *rest, **more)

    return lambda: Slow(lab)


def slow_compilers(lab: FakeLab) -> Callable[..., Future[Built]]:
    plain = lab.build

    def build(*arguments: Any) -> Future[Built]:
        time.sleep(0.05)
        return plain(*arguments)

    return build


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_tried_next_does_not_depend_on_who_was_ready_first(tmp_path: Path, seed: int) -> None:
    found = []
    for name, slow in (("device", {"measuring": slow_device}), ("compilers", {"build": slow_compilers})):
        (tmp_path / name).mkdir()
        world = World(tmp_path / name)
        ended = world.run(world.options(policy="random", seed=seed, trials=6), measured=False, author=TwoAtATime(), **slow)
        found.append([(p.step, p.parent, p.strategy, p.key, p.outcome) for p in rows(world, ended.run)["pulls"]])
    assert [p[-1] for p in found[0]].count("wrong") == 2
    assert found[0] == found[1]

"""Variants that loop, crash, exhaust memory or hang the compiler: each costs one trial at most, says why, and the search goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from kernelband.history import Store, trials
from kernelband.history.records import PullRow
from kernelband.judge.protocol import Settings
from kernelband.propose import Draft
from kernelband.search.options import Options
from kernelband.search.run import optimize
from kernelband.source import make_patch
from kernelband.source.model import Edit, Program, Span
from kernelband.strategies import Facts, Proposal
from kernelband_worker.wire import Case
from tests.e2e.cli_world import Home

#: name -> (what is replaced, by what). Whatever happens in a host function happens as soon as its launches are learnt.
EDITS = {
    "wrong": ("2.0 * tl.load", "3.0 * tl.load"),
    "endless_kernel": ("    tl.store(y + i", "    while n > 0:\n        tl.store(y + i, 0.0, mask=i < n)\n    tl.store(y + i"),
    "endless_host": ("    n = x.numel()", "    import time\n    time.sleep(600)\n    n = x.numel()"),
    "crashing_host": ("    n = x.numel()", "    import os\n    os.abort()\n    n = x.numel()"),
    "out_of_memory": ("torch.empty_like(x)", "torch.empty_like(torch.empty(1 << 47, dtype=torch.uint8))"),
    "no_such_name": ("tl.load(x + i", "tl.lode(x + i"),
    "endless_compiler": ("    tl.store(y + i", "    for r in tl.static_range(20000000):\n        x += r % 3\n    tl.store(y + i"),
    "good": ("BLOCK=64", "BLOCK=128"),
}


@frozen
class Saboteur:
    """An author whose first proposals are trouble, and whose last is sound."""

    name: str = "saboteur"
    free: bool = False

    def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
        if strategy != "tiling" or "BLOCK=64" not in "".join(program.texts.values()):
            return Draft((), exhausted=True)
        out: list[Proposal] = []
        for name, (old, new) in EDITS.items():
            ((path, text),) = program.texts.items()
            if old in text:
                at = text.index(old)
                patch = make_patch(program.texts, {path: [Edit(Span(at, at + len(old)), new)]})
                out.append(Proposal(strategy, name, {}, patch, "exact", name, "a test"))
        fresh = [p for p in out if p.key not in already]
        return Draft(tuple(fresh[:limit]), exhausted=len(fresh) <= limit)


def pace(cases: Sequence[Case], _: Settings) -> float:
    """As slow as the machine is, and no slower."""
    return 10.0 + 60.0 * sum(c.get("replay_s", 1.0) for c in cases)


@pytest.fixture(scope="module")
def pulls(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Iterator[dict[str, PullRow]]:
    home = Home(tmp_path_factory.mktemp("faults"), worker_python)
    options = Options(str(home.file), trials=len(EDITS), python=worker_python)
    with pytest.MonkeyPatch.context() as patience:  # an interpreter is given minutes before it counts as hanging; here it does hang
        patience.setattr("kernelband.search.worker_lab.INTERPRET_S", 3.0)
        patience.setattr("kernelband.search.worker_lab.COMPILE_S", 12.0)
        patience.setattr("kernelband.judge.check.interpreted_deadline", pace)
        ended = optimize(options, Path(home.db), lambda _: None, author=Saboteur())
    assert ended.state == "finished"
    with Store.read(home.db) as store:
        assert store.integrity() == "ok"
        yield {p.move: p for p in trials.pulls(store, ended.run) if p.parent == 0 and p.move}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("wrong", {"wrong"}),
        ("endless_kernel", {"timeout"}),
        ("endless_host", {"timeout", "compile_error"}),
        ("crashing_host", {"crashed", "compile_error"}),
        ("out_of_memory", {"oom", "compile_error"}),
        ("no_such_name", {"compile_error"}),
        ("endless_compiler", {"compile_error", "timeout"}),
        ("good", {"likely_faster", "unclear", "likely_slower"}),
    ],
)
def test_each_has_a_clear_result(pulls: dict[str, PullRow], name: str, outcomes: set[str]) -> None:
    pull = pulls[name]
    assert pull.outcome in outcomes, pull
    assert pull.reward == 0 or name == "good"
    if not pull.executed:
        assert pull.reason.endswith((".", ")", "'")), pull.reason

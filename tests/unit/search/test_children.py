"""What changed against the parent is written down with each child, also after a resume: the parent's change is not the child's reason."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.history import Store, trials
from kernelband.history.records import VariantRow
from kernelband.search.events import Event
from kernelband.search.options import Options
from kernelband.search.resume import options_of
from kernelband.search.run import optimize

from .fake_lab import TEXT, FakeAuthor, FakeLab


class SpillingLab(FakeLab):
    """Fewer bytes spill the larger the block: BLOCK=16 spills 800, 256 and more nothing."""

    def facts_of(self, launch: Any, text: str) -> Any:
        block = int(re.findall(r"BLOCK=(\d+)", text)[-1])
        return super().facts_of(launch, text) | {"spill_store_bytes": spilled(block)}


def spilled(block: int) -> int:
    return max(0, int(200 * (8 - math.log2(block))))


def run(folder: Path, stop_after: int | None = None, resume: str | None = None, *, is_measured: bool = True) -> tuple[Any, list[Event]]:
    (folder / "k.py").write_text(TEXT)
    events: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        if event.name == "trial_ended" and len([e for e in events if e.name == "trial_ended"]) == stop_after:
            raise KeyboardInterrupt

    db = folder / "state" / "h.db"
    options = options_of(db, resume) if resume is not None else evolve(Options(str(folder / "k.py")), trials=12)

    def start(workspace: Any, **_: Any) -> Any:
        return SpillingLab(workspace, is_measured)

    ended = optimize(options, db, listen, resume_run=resume, author=FakeAuthor(), start_lab=start)
    return ended, events


def variants(folder: Path, run: str) -> dict[int, VariantRow]:
    with Store.read(folder / "state" / "h.db") as store:
        return {v.id: v for v in trials.variants(store, run)}


def expected(before: int, after: int) -> tuple[list[str], list[str]]:
    """Gains and costs between two blocks: spills are all that moves."""
    if spilled(before) == spilled(after):
        return [], []
    what = "no registers spill any more" if spilled(after) == 0 else "fewer registers spill"
    if spilled(after) > spilled(before):
        return [], [f"registers spill: {spilled(before)} bytes per thread before, {spilled(after)} after"]
    return [f"{what}: {spilled(before)} bytes per thread before, {spilled(after)} after"], []


def check(found: dict[int, VariantRow]) -> int:
    """Every child's facts are against its own parent; how many there are."""
    children = [v for v in found.values() if v.parent]
    for v in children:
        parent = found[v.parent or 0].parameters["BLOCK"]
        assert (v.forecast["parent_gains"], v.forecast["parent_costs"]) == expected(parent, v.parameters["BLOCK"]), v.id
    assert all("parent_gains" not in v.forecast for v in found.values() if not v.parent)
    return len(children)


@pytest.mark.parametrize("is_measured", [True, False], ids=["measured", "predicted"])
def test_a_childs_facts_are_against_its_parent(tmp_path: Path, is_measured: bool) -> None:
    ended, events = run(tmp_path, is_measured=is_measured)
    found = variants(tmp_path, ended.run)
    assert check(found) >= 2
    said: dict[int, Any] = {e.variant: e for e in events if e.name == "trial_ended"}  # pyright: ignore[reportAttributeAccessIssue]
    for v in found.values():
        if v.parent:
            assert list(said[v.id].parent_gains) == v.forecast["parent_gains"]
        elif v.id:
            assert said[v.id].parent_gains is None


def test_after_a_resume_too(tmp_path: Path) -> None:
    first, _ = run(tmp_path, stop_after=3)
    assert first.state == "interrupted"
    early = set(variants(tmp_path, first.run))
    second, _ = run(tmp_path, resume=first.run)
    assert second.state == "finished"
    found = variants(tmp_path, second.run)
    check(found)
    assert any(v.parent in early and v.id not in early for v in found.values() if v.parent), "a child of a parent from before the resume"

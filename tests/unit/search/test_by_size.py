"""A whole run in which two variants complement each other: the choice between them is a trial, and is what the run ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.history import Store, runs, trials
from kernelband.search.events import Event, RunEnded
from kernelband.search.options import Options
from kernelband.search.resume import options_of
from kernelband.search.run import optimize
from kernelband.source import patch_from_json

from .fake_lab import TEXT
from .sized_lab import SIZES, Blocks, SizedLab, block_at, wanted

TRIALS = 6


class World:
    def __init__(self, folder: Path, sizes: Mapping[str, int] = SIZES, want: Callable[[int], float] = wanted) -> None:
        self.file, self.db = folder / "k.py", folder / "h.db"
        self.file.write_text(TEXT)
        self.sizes, self.want = sizes, want
        self.events: list[Event] = []
        self.labs: list[SizedLab] = []
        self.toll = 1.0

    def run(
        self,
        resume: str | None = None,
        listen: Callable[[Event], None] | None = None,
        *,
        measured: bool = True,
        author: Blocks | None = None,
        **options: Any,
    ) -> RunEnded:
        def start(workspace: Any, **_: Any) -> Any:
            self.labs.append(SizedLab(workspace, measured, self.sizes, self.want))
            self.labs[-1].toll = self.toll
            return self.labs[-1]

        asked = evolve(Options(str(self.file), trials=TRIALS), **options) if resume is None else options_of(self.db, resume)
        return optimize(asked, self.db, listen or self.events.append, resume_run=resume, author=author or Blocks(), start_lab=start)

    def rows(self, run: str) -> dict[str, Any]:
        with Store.read(self.db) as store:
            names = ("variants", "trials", "pulls", "finals", "measurements", "arms")
            return {n: getattr(trials, n)(store, run) for n in names} | {"run": runs.find(store, run)}

    def choices(self, run: str) -> list[Any]:
        return [v for v in self.rows(run)["variants"] if v.move == "by_size"]

    def text(self, variant: Any) -> str:
        return patch_from_json(variant.patch).apply({str(self.file): TEXT})[str(self.file)]

    def said(self) -> str:
        return " ".join(e.text for e in self.events if e.name == "noted")  # type: ignore[attr-defined]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_run_ends_with_the_choice(world: World) -> None:
    ended = world.run()
    found = world.rows(ended.run)
    (choice,) = world.choices(ended.run)
    assert ended.verified[0] == choice.id
    text = world.text(choice)
    assert "    BLOCK = 32 if x.numel() <= 8192 else 512  # measured: each the faster on its side\n" in text
    assert [block_at(text, n) for n in (1000, 8192, 8193, 100_000)] == [32, 32, 512, 512]
    by_block = {v.parameters["BLOCK"]: v for v in found["variants"] if v.move == "block" and not v.parent}
    first, second = by_block[32], by_block[512]
    assert choice.parameters == {"size": "x.numel()", "up_to": 8192, "small": first.id, "large": second.id}
    assert choice.parent in (first.id, second.id)
    assert choice.strategy == "tiling"
    assert choice.what == "Chooses by x.numel(): BLOCK 32 up to 8192, BLOCK 512 above, with the grid."
    assert f"Where x.numel() <= 8192, variant {first.id} was 80 % faster than variant {second.id}; where" in choice.why
    assert len(found["trials"]) == ended.counts["executed"] <= TRIALS
    pull = next(p for p in found["pulls"] if p.move == "by_size")
    assert (pull.executed, pull.strategy, pull.outcome, pull.parent) == (True, "tiling", "faster", choice.parent)
    assert pull.reward > 0.3
    assert "by size" in pull.reason
    assert any(a.strategy == "tiling" and a.pulls for a in found["arms"])


def test_the_final_has_the_choice_and_what_it_must_beat(world: World) -> None:
    ended = world.run()
    found = world.rows(ended.run)
    (choice,) = world.choices(ended.run)
    finals = {f.variant: f for f in found["finals"]}
    assert set(finals) == {choice.id, choice.parameters["small"], choice.parameters["large"]}
    # Alone, the one for large sizes loses a small one.
    who = (choice.id, choice.parameters["small"], choice.parameters["large"])
    assert [finals[v].verified for v in who] == [True, True, False]
    assert finals[choice.id].score > 1.3 * max(f.score for v, f in finals.items() if v != choice.id)
    unseen = {(m.variant, m.case_id) for m in found["measurements"] if m.stage == "unseen"}
    assert {case for _, case in unseen} == {"below", "above"}
    assert {v for v, _ in unseen} == set(finals)
    assert {m.case_id for m in found["measurements"] if m.stage in ("screening", "final")} == {"small", "large"}


def test_without_another_size_on_a_side_nothing_is_chosen_and_that_is_said(tmp_path: Path) -> None:
    world = World(tmp_path, {k: n for k, n in SIZES.items() if k != "above"})
    ended = world.run()
    assert world.choices(ended.run) == []
    assert ended.verified
    assert "no variant that chooses is proposed: where x.numel() > 8192 there is no other size to time it at" in world.said()
    assert world.said().count("no variant that chooses") == 1


def test_a_choice_that_loses_at_an_unseen_size_is_not_verified(tmp_path: Path) -> None:
    world = World(tmp_path, want=lambda n: 9 if n == 100_000 else 5)
    ended = world.run()
    (choice,) = world.choices(ended.run)
    assert ended.verified
    assert choice.id not in ended.verified
    said = next(f.result["reason"] for f in world.rows(ended.run)["finals"] if f.variant == choice.id)
    assert "case above" in said
    assert "is no timing case" in said


def test_a_choice_that_does_not_lead_stays_out_of_the_final(world: World) -> None:
    world.toll = 1.5
    ended = world.run(trials=40)
    (choice,) = world.choices(ended.run)  # and it isn't tried again with the same variants
    finals = {f.variant for f in world.rows(ended.run)["finals"]}
    assert finals
    assert choice.id not in finals
    assert ended.verified


def test_one_block_that_serves_all_sizes_needs_no_choice(tmp_path: Path) -> None:
    world = World(tmp_path, want=lambda n: 7)
    ended = world.run()
    assert world.choices(ended.run) == []
    assert ended.verified
    assert "chooses" not in world.said()


def test_the_original_may_be_one_side(tmp_path: Path) -> None:
    world = World(tmp_path, want=lambda n: 4 if n < 10_000 else 9)
    ended = world.run()
    (choice,) = world.choices(ended.run)
    assert choice.parameters["small"] == 0
    assert "    BLOCK = 16 if x.numel() <= 8192 else 512  # measured: each the faster on its side\n" in world.text(choice)
    assert ended.verified[0] == choice.id
    assert "the original was" in choice.why


def test_two_kernels_where_one_is_not_enough(world: World) -> None:
    ended = world.run(author=Blocks(kernels=True))
    (choice,) = world.choices(ended.run)
    assert ended.verified[0] == choice.id
    text = world.text(choice)
    assert "    if x.numel() <= 8192:  # measured: each the faster on its side\n        k" in text
    assert text.count("@triton.jit") == 2
    assert [block_at(text, n) for n in (1000, 8192, 8193, 100_000)] == [32, 32, 512, 512]
    assert "as variant" in choice.what


def test_a_choice_with_what_a_model_wrote_is_run_apart(tmp_path: Path) -> None:
    world = World(tmp_path, want=lambda n: 5 if n < 10_000 else 8.5)
    ended = world.run(author=Blocks(kernels=True, model=512))
    (choice,) = world.choices(ended.run)
    found = world.rows(ended.run)
    large = next(v for v in found["variants"] if v.id == choice.parameters["large"])
    small = next(v for v in found["variants"] if v.id == choice.parameters["small"])
    assert (large.author, small.author) == ("model wise", "blocks")
    assert small.seconds < large.seconds
    assert choice.parent == large.id  # although the other one is faster
    assert any(room.startswith("apart-") and room.endswith(f"-{choice.id}") for room in world.labs[0].rooms)


def test_policies_as_published_make_none(world: World) -> None:
    assert world.choices(world.run(policy="paper").run) == []


def test_nothing_is_chosen_where_nothing_was_measured(world: World) -> None:
    assert world.choices(world.run(measured=False).run) == []


def test_it_is_proposed_once_however_long_the_run(world: World) -> None:
    ended = world.run(trials=40)
    (choice,) = world.choices(ended.run)
    assert ended.verified[0] == choice.id
    keys = [(p.parent, p.key) for p in world.rows(ended.run)["pulls"] if p.key]
    assert len(keys) == len(set(keys))


def test_same_seed_same_choice(world: World, tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    other = World(tmp_path / "two")
    one, two = world.run(), other.run()
    strip = [[(p.step, p.parent, p.key, p.outcome) for p in w.rows(e.run)["pulls"]] for w, e in ((world, one), (other, two))]
    assert strip[0] == strip[1]


@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_a_resumed_run_makes_the_same_choice(world: World, after: int) -> None:
    left = after

    def listen(event: Event) -> None:
        nonlocal left
        world.events.append(event)
        left -= event.name == "trial_ended"
        if left == 0:
            left = -1
            raise KeyboardInterrupt

    first = world.run(listen=listen)
    assert first.state == "interrupted"
    before = world.rows(first.run)
    ended = world.run(first.run)
    (choice,) = world.choices(first.run)
    assert ended.verified[0] == choice.id
    assert "    BLOCK = 32 if x.numel() <= 8192 else 512  # measured: each the faster on its side\n" in world.text(choice)
    for table in ("variants", "trials", "pulls"):
        assert world.rows(first.run)[table][: len(before[table])] == before[table]

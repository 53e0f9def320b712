"""What a model wrote runs in executors that nothing else uses, and so does everything that is built on it; its author learns of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.errors import ModelError, UsageError
from kernelband.history import Store, trials
from kernelband.propose import Draft, Story
from kernelband.search.events import Event
from kernelband.search.options import Options
from kernelband.search.run import optimize

from .fake_lab import TEXT, FakeAuthor, FakeExecutor, FakeLab


class Watched(FakeExecutor):
    def __init__(self, lab: WatchedLab, name: str) -> None:
        super().__init__(lab)
        self.name = name

    def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, *, shared: bool = False) -> dict[str, Any]:
        self.lab.seen.append((self.name, operation, params.get("variant")))
        return super().call(operation, params, deadline_s, lock, shared=shared)

    def close(self) -> None:
        self.lab.ended.append(self.name)


class WatchedLab(FakeLab):
    def __init__(self, workspace: Any, measured: bool) -> None:
        super().__init__(workspace, measured)
        self.seen: list[tuple[str, str, str | None]] = []
        self.ended: list[str] = []

    def measuring(self) -> Watched:
        return Watched(self, "main")

    def fresh(self, name: str) -> Watched:
        return Watched(self, name)


class Learner(FakeAuthor):
    """``tiling`` is a model's, the rest a rewriter's."""

    free = False

    def __init__(self, troubles: tuple[str, ...] = ()) -> None:
        super().__init__(troubles)
        self.stories: list[Story] = []

    def inform(self, story: Story) -> None:
        self.stories.append(story)

    def write(self, program: Any, strategy: str, facts: Any, already: Any, limit: int) -> Draft:
        draft = super().write(program, strategy, facts, already, limit)
        return evolve(draft, authors={p.key: "model wise" for p in draft.proposals} if strategy == "tiling" else {})


def run(folder: Path, author: Any, *, measured: bool = True, options: dict[str, Any] | None = None) -> tuple[Any, WatchedLab, list[Event]]:
    (folder / "k.py").write_text(TEXT)
    labs: list[WatchedLab] = []
    events: list[Event] = []

    def start(workspace: Any, **_: Any) -> Any:
        labs.append(WatchedLab(workspace, measured))
        return labs[0]

    asked = evolve(Options(str(folder / "k.py")), trials=10, **(options or {}))
    ended = optimize(asked, folder / "h.db", events.append, author=author, start_lab=start)
    return ended, labs[0], events


@pytest.mark.parametrize("measured", [True, False])
def test_a_models_variant_and_its_children_meet_nothing_of_the_original(tmp_path: Path, measured: bool) -> None:
    ended, lab, _ = run(tmp_path, Learner(), measured=measured)
    with Store.read(tmp_path / "h.db") as store:
        rows = trials.variants(store, ended.run)
    strange: set[int] = set()
    for row in rows:
        if row.author == "model wise" or row.parent in strange:
            strange.add(row.id)
    assert strange
    assert any(row.author == "fake" and row.id in strange for row in rows), "a rewriter's child of a model's variant"
    apart = [name for name, operation, variant in lab.seen if operation == "check" and name.startswith("apart")]
    assert len(apart) == len(set(apart)) == len(strange)
    assert set(apart) <= set(lab.ended)
    by_main = {variant for name, operation, variant in lab.seen if name == "main" and operation in ("check", "time")}
    by_apart = {variant for name, _, variant in lab.seen if name.startswith("apart")}
    assert not by_main & by_apart


def test_the_author_learns_what_became_of_its_proposals(tmp_path: Path) -> None:
    author = Learner(("compile_error", "wrong"))
    run(tmp_path, author)
    told = {t.what: t for story in author.stories for t in story.tried}
    assert {t.outcome for t in told.values()} >= {"compile_error", "wrong", "faster"}
    assert "It does not compile." in next(t.reason for t in told.values() if t.outcome == "compile_error")
    assert any(story.lineage for story in author.stories)


def test_options_name_the_author(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no author"):
        Options("/k.py", author="nobody")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="No model is named"):
        run(tmp_path, None, options={"author": "model"})


def test_a_run_whose_only_author_is_refused_says_why(tmp_path: Path) -> None:
    class Refused(FakeAuthor):
        free = False

        def write(self, *_: Any) -> Draft:
            raise ModelError("The model wrote nothing: the key is refused.")

    with pytest.raises(ModelError, match="the key is refused"):
        run(tmp_path, Refused())

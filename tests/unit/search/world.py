"""A world for whole runs in this process: a workspace, a database, and a laboratory whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import evolve

from kernelband.history import Store, trials
from kernelband.search.events import Event, RunEnded
from kernelband.search.options import Options
from kernelband.search.run import optimize

from .fake_lab import TEXT, FakeAuthor, FakeLab

TROUBLES = ("wrong", "crashed", "timeout", "oom", "compile_error", "compiler_hangs", "same")


class World:
    """A workspace, a database, and the events of the runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "k.py"
        self.file.write_text(TEXT)
        self.db = folder / "state" / "h.db"
        self.events: list[Event] = []
        self.labs: list[FakeLab] = []

    def options(self, **more: Any) -> Options:
        return evolve(Options(str(self.file), trials=8), **more)

    def run(
        self, options: Options | None = None, *, measured: bool = True, author: Any = None, resume: str | None = None, **patches: Any
    ) -> RunEnded:
        def start(workspace: Any, **_: Any) -> Any:
            lab = FakeLab(workspace, measured)
            for name, value in patches.items():
                setattr(lab, name, value(lab))
            self.labs.append(lab)
            return lab

        return optimize(
            options or self.options(), self.db, self.events.append, resume_run=resume, author=author or FakeAuthor(), start_lab=start
        )

    def store(self) -> Store:
        return Store.read(self.db)

    def named(self, name: str) -> list[Any]:
        return [e for e in self.events if e.name == name]


def rows(world: World, run: str) -> dict[str, Any]:
    with world.store() as store:
        return {
            "cases": trials.cases(store, run),
            "variants": trials.variants(store, run),
            "trials": trials.trials(store, run),
            "pulls": trials.pulls(store, run),
            "finals": trials.finals(store, run),
        }


class Stop:
    """Raises KeyboardInterrupt at the n-th event of a name."""

    def __init__(self, world: World, name: str, count: int) -> None:
        self.world, self.name, self.left = world, name, count

    def __call__(self, event: Event) -> None:
        self.world.events.append(event)
        if event.name == self.name:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def interrupted(
    world: World, name: str, count: int, options: Options | None = None, *, author: Any = None, resume: str | None = None
) -> RunEnded:
    stop = Stop(world, name, count)

    def start(workspace: Any, **_: Any) -> Any:
        world.labs.append(FakeLab(workspace))
        return world.labs[-1]

    asked = options or world.options()
    return optimize(asked, world.db, stop, resume_run=resume, author=author or FakeAuthor(TROUBLES), start_lab=start)

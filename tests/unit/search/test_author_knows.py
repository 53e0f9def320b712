"""What an author is told of the program that it writes for."""

from __future__ import annotations

from typing import Any

from kernelband.propose import Draft
from kernelband.search.trial import constants_of
from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.propose.test_untaken import KERNEL, program_of

from .fake_lab import FakeAuthor, FakeLab
from .world import World


def test_its_constexprs_are_its_own(world: World, monkeypatch: Any) -> None:
    """Not those of the original: what a variant changes decides other branches."""
    specialise = FakeLab.specialise

    def with_text(self: FakeLab, files: Any, cases: Any) -> Any:
        found = specialise(self, files, cases)
        for launch in found["launches"]:
            launch["kernel"]["path"] = str(world.file)
            launch["constants"] = {"TEXT": self.text(files["id"] if files is not None else None)}
        return found

    monkeypatch.setattr(FakeLab, "specialise", with_text)
    told: dict[str, tuple[dict[str, Any], ...]] = {}

    class Author(FakeAuthor):
        def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
            (text,) = program.texts.values()
            told[text] = facts.constants
            return super().write(program, strategy, facts, already, limit)

    world.run(author=Author())
    assert len(told) > 1
    assert told == {text: ({"TEXT": text},) for text in told}


def test_of_other_kernels_nothing_is_told(tmp_path: Any) -> None:
    kernel = program_of(KERNEL.format(test="WHOLE"), tmp_path).kernel
    here = {"path": kernel.place.path, "qualname": kernel.place.qualname}
    launches: Any = [
        {"kernel": here, "constants": {"WHOLE": True}},
        {"kernel": {**here, "qualname": "another"}, "constants": {"WHOLE": 3}},
        {"kernel": {**here, "path": "another.py"}, "constants": {"WHOLE": 4}},
        {"kernel": here, "constants": {"WHOLE": False}},
        {"kernel": here, "constants": {"WHOLE": True}},
    ]
    assert constants_of(launches)[kernel.place] == ({"WHOLE": True}, {"WHOLE": False})

"""The author that asks a model: what becomes a proposal, one repair, caps, and going on when it can't be asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import ModelError
from kernelband.hardware import find_device
from kernelband.propose import Both, Informed, ModelAuthor, ModelSettings, Rewriter, Story, Tried, is_model
from kernelband.propose.model.client import Message, ModelFault, Reply
from kernelband.propose.model.prompt import without_folders
from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.propose.test_gate import TEXT, host, program_of

GOOD = "## Variant: {0}\nWhy: because\n\n```python copy\n{1}```\n"
FACTS = Facts(find_device("h100"), ())


def variant(what: str, body: str = "pass") -> str:
    return GOOD.format(what, host(body))


class Scripted:
    """Answers in turn; an exception is raised."""

    def __init__(self, *turns: str | Reply | Exception) -> None:
        self.turns = list(turns)
        self.talks: list[list[Message]] = []
        self.limits: list[tuple[int, float]] = []

    def ask(self, messages: Sequence[Message], tokens: int, timeout_s: float) -> Reply:
        self.talks.append(list(messages))
        self.limits.append((tokens, timeout_s))
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn if isinstance(turn, Reply) else Reply(turn, "stop", 1000, 200)

    def close(self) -> None:
        self.turns.clear()


class World:
    def __init__(self, program: Program, *turns: str | Reply | Exception, alone: bool = False, left: float = 1e9, **settings: Any) -> None:
        self.program, self.client = program, Scripted(*turns)
        self.told: list[str] = []
        self.slept: list[float] = []
        self.author = ModelAuthor(
            ModelSettings("wise", "http://localhost:1/v1", **settings),
            self.told.append,
            lambda: left,
            alone=alone,
            environment={},
            client=self.client,
            sleep=self.slept.append,
        )

    def write(self, strategy: str = "tiling", already: set[str] | None = None, limit: int = 8) -> Any:
        return self.author.write(self.program, strategy, FACTS, already or set(), limit)

    @property
    def text(self) -> str:
        return " ".join(self.told)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return program_of(TEXT, tmp_path)


def test_what_passes_the_gate_becomes_a_proposal(program: Program) -> None:
    world = World(program, variant("one", "n = n + 0") + variant("bad", 'open("f")') + variant("two", "n = n - 0"))
    draft = world.write()
    assert [(p.what, p.why, p.numerics, p.strategy, p.move) for p in draft.proposals] == [
        ("one", "because", "reassociates", "tiling", "model"),
        ("two", "because", "reassociates", "tiling", "model"),
    ]
    assert draft.enough
    assert not draft.exhausted
    (after,) = draft.proposals[0].patch.apply(program.texts).values()
    assert "n = n + 0" in after
    assert [r.startswith("bad: copy, line 5: it uses open") for r in draft.refused] == [True]
    assert isinstance(world.author, Informed)
    assert is_model(world.author.name)
    assert not is_model(Rewriter().name)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('open("f")', "name"),
        ("x.kept = y", "state"),
        ("if y[0] > 0: n = n + 0", "memory"),
        ("if n == 4096: n = n + 0", "sizes"),
        ("(", "form"),
    ],
)
def test_the_rule_that_refuses_is_said_to_people_and_to_the_model(program: Program, line: str, rule: str) -> None:
    world = World(program, variant("bad", line), variant("bad", line))
    (refused,) = world.write().refused
    assert refused.endswith(f" (Rule: {rule}.)")
    assert refused in world.text
    assert refused in world.client.talks[1][-1]["content"]
    told = (Path(__file__).parents[3] / "docs" / "model.md").read_text(encoding="utf-8")
    assert f"`{rule}`" in told


def test_one_repair_turn_with_the_exact_error(program: Program) -> None:
    world = World(program, variant("bad", 'open("f")'), variant("mended", "n = n + 0"))
    assert [p.what for p in world.write().proposals] == ["mended"]
    first, second = world.client.talks
    assert second[: len(first)] == first
    assert second[-2] == {"role": "assistant", "content": variant("bad", 'open("f")')}
    assert "bad: copy, line 5: it uses open" in second[-1]["content"]


def test_garbage_twice_ends_the_question_and_costs_no_proposal(program: Program) -> None:
    world = World(program, "nonsense", "more nonsense", variant("late"))
    draft = world.write()
    assert draft.proposals == ()
    assert len(world.client.talks) == 2
    assert "no fenced block" in world.text


def test_an_arm_is_asked_twice_at_most(program: Program) -> None:
    world = World(program, variant("one", "n = n + 0"), variant("two", "n = n - 0"))
    keys = {p.key for p in world.write().proposals}
    keys |= {p.key for p in world.write(already=keys).proposals}
    assert len(keys) == 2
    assert world.write(already=keys).exhausted
    assert len(world.client.talks) == 2


def test_what_was_proposed_before_isnt_again(program: Program) -> None:
    world = World(program, variant("one", "n = n + 0"), variant("one", "n = n + 0"), variant("new", "n = n - 0"))
    keys = {p.key for p in world.write().proposals}
    assert [p.what for p in world.write(already=keys).proposals] == ["new"]


@pytest.mark.parametrize("outcome", ["compile_error", "wrong"])
def test_a_proposal_that_fails_later_is_mended_once(program: Program, outcome: str) -> None:
    world = World(program, variant("one", "n = n + 0"), variant("mended", "n = n - 0"), variant("fresh", "n = n * 1"))
    (one,) = world.write().proposals
    story = Story(("BLOCK 32→64",), (Tried(one.key, one.what, outcome, "ptxas says: no, in /home/me/secret/m.py:3"),))
    world.author.inform(story)
    (mended,) = world.write(already={one.key}).proposals
    last = world.client.talks[-1]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "user"]
    assert "ptxas says: no, in m.py:3" in last[-1]["content"]
    assert world.write(already={one.key, mended.key}).proposals[0].what == "fresh"  # a question of its own, not a third try
    asked = world.client.talks[-1][1]["content"]
    assert "- BLOCK 32→64" in asked
    assert f"- one: {outcome.replace('_', ' ')} (ptxas says" in asked


def test_lower_precision_only_where_it_is_allowed(program: Program) -> None:
    text = variant("tf32", "n = n + 0").replace("Why: because", "Why: because\nNumerics: lowers_precision")
    world = World(program, text, text)
    assert world.write().proposals == ()
    assert "isn't allowed" in world.text
    facts = Facts(find_device("h100"), (), allowed=frozenset({"exact", "reassociates", "lowers_precision"}))
    (found,) = World(program, text).author.write(program, "tiling", facts, set(), 4).proposals
    assert found.numerics == "lowers_precision"


def test_a_cut_off_answer_keeps_its_whole_variants(program: Program) -> None:
    cut = variant("one", "n = n + 0") + variant("two", "n = n - 0")[:-40]
    world = World(program, Reply(cut, "length", 10, 12000))
    assert [p.what for p in world.write().proposals] == ["one"]
    assert "last variant" in world.text
    assert "--model-answer-tokens" in world.text


def test_a_content_filter_is_said_and_not_argued_with(program: Program) -> None:
    world = World(program, Reply("", "content_filter", 10, 0))
    assert world.write().proposals == ()
    assert len(world.client.talks) == 1
    assert "content filter" in world.text


def test_it_says_once_what_is_sent_and_where(program: Program) -> None:
    world = World(program, "x", "x", "x", "x")
    world.write()
    world.write("fusion")
    said = [t for t in world.told if t.startswith("Asking the model wise at localhost:1:")]
    assert len(said) == 1
    assert "40 calls, 400000 tokens" in said[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"calls": 2}, "its 2 calls are used up"),
        ({"tokens": 4000}, "its 4000 tokens are used up"),
        ({"dollars": 0.01, "price": (1.0, 10.0)}, "its 0.01 dollars are used up"),
    ],
)
def test_caps(program: Program, settings: dict[str, Any], words: str) -> None:
    world = World(program, *["x"] * 10, **settings)
    for name in ("tiling", "fusion", "pipeline", "reordering"):
        world.write(name)
    assert words in world.text
    assert "rewriter" in world.text
    assert len(world.client.talks) <= 3
    assert world.author.off
    assert world.write("vectorization").exhausted


def test_a_busy_server_is_waited_for_once_and_within_reason(program: Program) -> None:
    busy = ModelFault("Busy (429).", again=True, retry_s=3)
    world = World(program, busy, variant("one", "n = n + 0"))
    assert len(world.write().proposals) == 1
    assert world.slept == [3]
    impatient = World(program, ModelFault("Busy (429).", again=True, retry_s=3), left=8)
    assert impatient.write().proposals == ()
    assert impatient.slept == []


def test_after_two_faults_in_a_row_it_is_left_alone(program: Program) -> None:
    world = World(program, *[ModelFault("Out of order (500).", again=True) for _ in range(4)])
    world.write()
    world.write("fusion")
    assert "no longer asked: Out of order (500)." in world.text
    assert world.write("pipeline").exhausted
    assert len(world.client.talks) == 4  # each question once more, then no more


def test_alone_and_refused_ends_the_run(program: Program) -> None:
    world = World(program, ModelFault("The key is refused.", lasting=True), alone=True)
    with pytest.raises(ModelError, match="The key is refused"):
        world.write()


def test_alone_with_something_found_the_run_comes_to_its_end(program: Program) -> None:
    world = World(program, variant("one", "n = n + 0"), ModelFault("The key is refused.", lasting=True), alone=True)
    world.write()
    draft = world.write("fusion")
    assert draft.exhausted
    assert "no longer asked: The key is refused." in world.text


def test_no_call_when_no_time_is_left(program: Program) -> None:
    world = World(program, left=2)
    assert world.write().proposals == ()
    assert world.client.talks == []
    hurried = World(program, "x", "x", left=60)
    hurried.write()
    assert hurried.client.limits[0][1] == 15


def test_both_go_side_by_side(program: Program) -> None:
    world = World(program, variant("one", "n = n + 0"))
    both = Both(world.author, Rewriter())
    draft = both.write(program, "tiling", FACTS, set(), 8)
    moves = Rewriter().write(program, "tiling", FACTS, set(), 8).proposals
    assert [p.key for p in draft.proposals[1:]] == [p.key for p in moves]
    assert draft.authors == {draft.proposals[0].key: "model wise"}
    assert not both.free


def test_the_log_holds_what_was_sent(program: Program, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    world = World(program, "x", variant("one", "n = n + 0"), log=str(log))
    world.write()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["sent"] for line in lines] == world.client.talks
    assert lines[1]["answer"] == variant("one", "n = n + 0")
    unwritable = World(program, "x", log=str(tmp_path / "no" / "such" / "folder"))
    with pytest.raises(ModelError, match="can't be written"):
        unwritable.write()


def test_folders_stay_here() -> None:
    assert without_folders("error in /home/me/code/k.py:3: a/b and 1 / 2, at 'C:\\me\\k.py'") == "error in k.py:3: a/b and 1 / 2, at 'k.py'"
    assert without_folders("see https://triton-lang.org/main/x.html") == "see https://triton-lang.org/main/x.html"

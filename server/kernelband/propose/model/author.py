"""The author that asks a model: one question for an arm, one repair turn with the exact errors, and what passes the gate as proposals."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from attrs import define, field, frozen

from kernelband.errors import ModelError, UsageError
from kernelband.propose._base import MENDABLE, MODEL, Draft, Story
from kernelband.propose.boundary import unseen_host
from kernelband.propose.model.answer import Written, read
from kernelband.propose.model.client import Client, Message, ModelFault, OpenAIClient, Reply
from kernelband.propose.model.edits import to_patch
from kernelband.propose.model.functions import editables
from kernelband.propose.model.prompt import conversation, repair
from kernelband.propose.model.rules import Refused
from kernelband.propose.model.settings import ModelSettings
from kernelband.propose.model.spending import Spending
from kernelband.source.model import Program, text_hash
from kernelband.strategies import Facts, Numerics, Proposal
from kernelband.strategies import strategy as find_strategy

VARIANTS = 3  # asked for at once
QUESTIONS = 2  # to an arm, each with one repair turn
FAULTS = 2  # in a row, after which a model isn't asked any more
SHARE = 0.25  # of the seconds left, that one call may take
LEAST_S = 5.0  # a call with less time isn't begun
PAUSE_S = 1.0  # before the second try, where the server says no time
MAX_PROBLEMS = 6


@define
class _Arm:
    """What was said about a strategy for one program. ``talks``: the conversation behind each proposal, by key, for its repair."""

    questions: int = 0
    talks: dict[str, tuple[Message, ...]] = field(factory=dict[str, "tuple[Message, ...]"])
    mended: set[str] = field(factory=set[str])


@frozen
class _Question:
    """What is asked: the conversation so far, and what it is about."""

    talk: list[Message]
    program: Program
    strategy: str
    facts: Facts
    already: Set[str]


@frozen
class _Round:
    """What came of one question with its repair turn."""

    proposals: tuple[Proposal, ...]
    refused: tuple[str, ...]


@define
class ModelAuthor:
    """A model behind an OpenAI-compatible API.

    Args:
        settings: which one, where, and the caps.
        tell: hears one sentence about each thing that a person should know.
        left: seconds left of the run; infinite without a limit.
        alone: there is no other author: if it never says anything of use, the run ends with the reason.
    """

    settings: ModelSettings
    tell: Callable[[str], None]
    left: Callable[[], float] = lambda: float("inf")
    alone: bool = False
    environment: Mapping[str, str] = field(factory=lambda: os.environ, repr=False)
    client: Client | None = field(default=None, repr=False)
    sleep: Callable[[float], Any] | None = None
    spending: Spending = field(init=False)
    off: str = ""  # why it isn't asked any more
    _over: threading.Event = field(factory=threading.Event)
    _wrote: bool = False
    _faults: int = 0
    _told: bool = False
    _story: Story = field(factory=Story)
    _arms: dict[tuple[str, str], _Arm] = field(factory=dict[tuple[str, str], _Arm])

    def __attrs_post_init__(self) -> None:
        self.spending = Spending(self.settings)
        if self.client is None:
            self.client = OpenAIClient(self.settings, self.environment)
        if self.sleep is None:
            self.sleep = self._over.wait

    def close(self) -> None:
        """The run is over: a call that still waits ends at once, and nothing more is said of it."""
        self._over.set()
        if self.client is not None:
            self.client.close()

    @property
    def free(self) -> bool:
        """Each question has its price."""
        return False

    @property
    def name(self) -> str:
        return f"{MODEL}{self.settings.name}"

    def inform(self, story: Story) -> None:
        """Of the program that comes next."""
        self._story = story

    def write(self, program: Program, strategy: str, facts: Facts, already: Set[str], limit: int) -> Draft:
        """What the model writes for this arm, checked: nothing that fails the gate becomes a proposal.

        Raises:
            KeyError: there is no such strategy.
            ModelError: it is the only author, and can't be asked.
        """
        card = find_strategy(strategy).card
        arm = self._arms.setdefault((text_hash("\0".join(program.texts[p] for p in sorted(program.texts))), strategy), _Arm())
        talk = self._mend(arm)
        if talk is None:
            if arm.questions >= QUESTIONS or not editables(program):
                return Draft((), exhausted=True)
            arm.questions += 1
            talk = conversation(program, card, facts, self._story, min(VARIANTS, limit))
        if self.off:
            return self._give_up()
        found = self._ask(_Question(talk, program, strategy, facts, already), arm)
        for sentence in found.refused:
            self.tell(f"A variant of {self.settings.name} for {strategy} is not used: {sentence}")
        if self.off and not found.proposals:
            return self._give_up(found.refused)
        self._wrote |= bool(found.proposals)
        used_up = arm.questions >= QUESTIONS
        return Draft(found.proposals[:limit], exhausted=used_up and not found.proposals, refused=found.refused, enough=True)

    def _give_up(self, refused: tuple[str, ...] = ()) -> Draft:
        if self.alone and not self._wrote:
            raise ModelError(f"The model wrote nothing: {self.off}", kind="model")
        return Draft((), exhausted=True, refused=refused)

    def _mend(self, arm: _Arm) -> list[Message] | None:
        """The conversation behind a proposal that failed, with the exact error; each is mended once at most."""
        for tried in self._story.tried:
            if tried.key in arm.talks and tried.key not in arm.mended and tried.outcome in MENDABLE:
                arm.mended.add(tried.key)
                return [*arm.talks[tried.key], repair([f"{tried.what}: {tried.outcome.replace('_', ' ')}: {tried.reason}"])]
        return None

    # ------------------------------------------------------------ one question

    def _ask(self, question: _Question, arm: _Arm) -> _Round:
        talk, program, strategy = question.talk, question.program, question.strategy
        proposals: list[Proposal] = []
        problems: list[str] = []
        mending = talk[-1]["role"] == "user" and len(talk) > 2
        for turn in range(1 if mending else 2):
            reply = self._reply(talk, strategy)
            if reply is None:
                break
            answer = read(reply.text, [e.label for e in editables(program)], complete=reply.complete)
            problems = list(answer.problems)
            if reply.finish == "content_filter":
                problems = [f"the server's content filter stopped the answer ({reply.finish})."]
            elif reply.finish == "length":
                problems.append(f"The answer reached {self.settings.answer_tokens} tokens (--model-answer-tokens): write less.")
            talk = [*talk, {"role": "assistant", "content": reply.text}]
            keys = {*question.already, *(p.key for p in proposals)}
            for written in answer.variants:
                try:
                    proposal = _proposal(written, program, strategy, question.facts)
                except Refused as refused:
                    problems.append(f"{written.what}: {refused} (Rule: {refused.kind}.)")
                    continue
                if proposal.key in keys:
                    problems.append(f"{written.what}: it was proposed before.")
                    continue
                keys.add(proposal.key)
                proposals.append(proposal)
                arm.talks[proposal.key] = tuple(talk)
                if turn or mending:
                    arm.mended.add(proposal.key)  # it was the repair
            if proposals or not problems or reply.finish == "content_filter":
                break
            talk = [*talk, repair(problems[:MAX_PROBLEMS])]
        return _Round(tuple(proposals), tuple(problems[:MAX_PROBLEMS]))

    def _reply(self, talk: Sequence[Message], strategy: str) -> Reply | None:
        """The answer; None where there is none, and that was said."""
        for second in (False, True):
            tokens, why = self.spending.allowance(sum(len(m["content"]) for m in talk))
            seconds = min(self.settings.timeout_s, max(SHARE * self.left(), LEAST_S))
            if tokens <= 0:
                self._stop(why)
                return None
            if self.left() < LEAST_S or self._over.is_set():
                return None
            self._say_first()
            try:
                return self._call(talk, tokens, seconds, strategy)
            except UsageError as error:
                self._stop(error.message)
                return None
            except ModelFault as fault:
                if self._over.is_set():
                    return None
                wait = PAUSE_S if fault.retry_s is None else fault.retry_s
                worth = fault.again and not second and wait <= SHARE * self.left() and wait <= self.settings.timeout_s
                if worth:
                    self.tell(f"{fault.sentence} Asking once more{f' in {wait:.0f} s' if wait >= 1 else ''}.")
                    assert self.sleep is not None
                    self.sleep(wait)
                    continue
                self._failed(fault)
                return None
        return None

    def _call(self, talk: Sequence[Message], tokens: int, seconds: float, strategy: str) -> Reply:
        assert self.client is not None
        sent = sum(len(m["content"]) for m in talk)
        try:
            reply = self.client.ask(talk, tokens, seconds)
        except ModelFault as fault:
            if fault.sent:
                self.spending.count(None, 0, (sent, 0))
            self._log({"strategy": strategy, "sent": list(talk), "fault": fault.sentence})
            raise
        self._faults = 0
        self.spending.count(reply.read, reply.written, (sent, len(reply.text)))
        self._log({"strategy": strategy, "sent": list(talk), "answer": reply.text, "finish": reply.finish, "usage": self.spending.text()})
        return reply

    def _failed(self, fault: ModelFault) -> None:
        self._faults += 1
        if fault.lasting or self._faults >= FAULTS:
            self._stop(fault.sentence)
        else:
            self.tell(fault.sentence)

    def _stop(self, why: str) -> None:
        """Not asked any more in this run."""
        self.off = why if why.endswith((".", "?", ")")) else f"{why}."
        rest = "" if self.alone else " The run goes on with the rewriter."
        if not (self.alone and not self._wrote):  # else it is the run's own end
            self.tell(f"The model {self.settings.name} is no longer asked: {self.off}{rest}")

    # ------------------------------------------------------------ say what is sent

    def _say_first(self) -> None:
        if self._told:
            return
        self._told = True
        s = self.settings
        plain = " The connection is not encrypted." if s.base_url.startswith("http:") and not s.here else ""
        money = f" and {s.dollars:g} dollars" if s.dollars is not None else ""
        self.tell(
            f"Asking the model {s.name} at {s.host}: it is sent the text of the kernel, its helpers and the functions that launch it, with "
            f"shapes, times and compile facts; nothing else of your files.{plain} At most {s.calls} calls, {s.tokens} tokens{money}."
        )

    def _log(self, record: dict[str, Any]) -> None:
        """One line of the user's log, which only they can read."""
        if self.settings.log is None:
            return
        try:
            handle = os.open(self.settings.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as file:
                file.write(
                    json.dumps({"at": round(time.time(), 3), "host": self.settings.host, "model": self.settings.name} | record) + "\n"
                )
        except OSError as error:
            raise ModelError(
                f"The log {self.settings.log} can't be written ({error.strerror}): name another file with --model-log."
            ) from error


def _proposal(written: Written, program: Program, strategy: str, facts: Facts) -> Proposal:
    """What was written, as a proposal like any other.

    Raises:
        Refused: the gate says no.
    """
    numerics: Numerics = "lowers_precision" if written.lowers else "reassociates"
    if numerics not in facts.allowed:
        raise Refused(f"it has numerics {numerics}, and that isn't allowed in this run.")
    patch = to_patch(program, written.blocks)
    host = unseen_host(program, patch, facts.cases)
    if host:
        raise Refused(f"it edits {host}, and no recorded call runs that: each is a bare launch. Rewrite the kernel and its helpers only.")
    after = patch.apply(program.texts)
    digest = text_hash("\0".join(after[f.path] for f in patch.files))[:12]
    why = written.why or "The model gave no reason."
    return Proposal(strategy, "model", {"text": digest}, patch, numerics, what=written.what, why=why)

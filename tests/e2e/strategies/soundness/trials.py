"""All that strategies offer for a program, and what a process of the worker's Python says of it."""

from __future__ import annotations

import atexit
import json
import random
import re
import subprocess
from collections import Counter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import attrs
from attrs import define, field, frozen

from kernelband.source.model import Program
from kernelband.strategies import STRATEGIES, Facts, Proposal
from tests.e2e.strategies.comparing import PYTHON
from tests.e2e.strategies.soundness.pieces import Sample
from tests.unit.strategies.samples import H200, program_of

#: One multiprocessor and little cache: small inputs fill it, so that moves for large ones have something to say.
SMALL = attrs.evolve(H200, multiprocessors=1, l2_bytes=4096, max_programs_per_sm=2)
BLACKWELL = attrs.evolve(SMALL, arch=100)
DEVICES = (SMALL, H200, BLACKWELL)
EVERYTHING = frozenset({"exact", "reassociates", "lowers_precision"})
KINDS = ("outlier", "nan", "inf", "zeros", "constant", "tiny", "large")
STRESSES = 3  # of these
OTHERS = 4  # sizes that the entry doesn't have
ALL = 1000
TILES = 4  # of the proposals that differ in block sizes only


class Worker:
    """The process; ``trial.py`` says what it is asked and answers."""

    def __init__(self, python: str = PYTHON) -> None:
        self.said = TemporaryFile()  # noqa: SIM115  # as long as the process
        script = str(Path(__file__).with_name("trial.py"))
        self.process = subprocess.Popen(
            [python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True, start_new_session=True
        )
        atexit.register(self.end)

    def ask(self, **job: Any) -> Any:
        """The answer to a job."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            self.process.wait(10)
            self.said.seek(0)
            raise AssertionError(f"exit status {self.process.returncode}: {self.said.read()[-3000:].decode()}")
        return json.loads(answer)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(10)
        for file in (self.process.stdin, self.process.stdout, self.said):
            assert file is not None
            file.close()
        atexit.unregister(self.end)


@frozen
class Wrong:
    """A variant that isn't what its original is."""

    seed: int
    program: str
    key: str
    reason: str
    text: str = field(repr=False)


@define
class Tally:
    """What was done so far."""

    programs: int = 0
    proposals: int = 0
    tried: int = 0
    calls: int = 0
    hard: int = 0
    moves: Counter[str] = field(factory=Counter[str])
    compared: Counter[str] = field(factory=Counter[str])
    wrong: list[Wrong] = field(factory=list[Wrong])


def facts_of(program: Program, cases: list[Any], device: Any) -> Facts:
    """What a capture on that device says, registers being what limits programs."""
    path = program.kernel.place.path
    made: list[Any] = []
    for number, case in enumerate(cases):
        launches = [
            {
                **x,
                "specialization": f"s{number}",
                "kernel": {"module": "sample", "path": path, "qualname": x["kernel"]},
                "target": x["kernel"] == program.kernel.place.qualname,
            }
            for x in case["launches"]
        ]
        made.append({"id": str(number), "role": "time", "neighbour_of": None, "launches": launches, "tensors": case["tensors"]})
    kernel = {"module": "sample", "path": path, "qualname": program.kernel.place.qualname}
    compiled = {"kernel": kernel, "registers": 132, "spill_store_bytes": 0, "spill_load_bytes": 0, "shared_bytes": 1024, "num_warps": 4}
    return Facts(device, tuple(made), (compiled,), allowed=EVERYTHING)  # pyright: ignore[reportArgumentType]


def offered(program: Program, cases: list[Any]) -> dict[str, Proposal]:
    """Every proposal for any of the devices, from all cases and from the first alone, by the text that it makes."""
    found: dict[str, Proposal] = {}
    path = program.kernel.place.path
    for seen in (cases, cases[:1]):
        for device in DEVICES:
            given = facts_of(program, seen, device)
            for proposal in (p for s in STRATEGIES for p in s.propose(program, given)):
                found.setdefault(proposal.patch.apply(program.texts)[path], proposal)
    return found


def told_apart(text: str) -> str:
    """A text without what makes no difference to an interpreter."""
    return re.sub(r",? ?num_warps=\d+|num_warps = \d+|maxnreg=\d+", "", text)


def distinct(found: dict[str, Proposal], seed: int, most: int) -> dict[str, Proposal]:
    """Those that an interpreter can tell apart: at most so many of a move, of mere block sizes some."""
    by_form: dict[str, str] = {}
    for text, proposal in found.items():
        by_form.setdefault(f"{proposal.move} {told_apart(text)}" if proposal.move != "tiles" else told_apart(text), text)
    chosen, by_move = random.Random(seed), dict[str, list[str]]()
    for text in by_form.values():
        by_move.setdefault(found[text].move, []).append(text)
    return {
        text: found[text]
        for move, texts in by_move.items()
        for text in chosen.sample(texts, min(len(texts), most, TILES if move == "tiles" else most))
    }


def calls_of(sample: Sample, seed: int) -> list[tuple[tuple[int, ...], str]]:
    """Sizes of the entry, others, and other values for some of them."""
    chosen = random.Random(seed)
    sizes = [*sample.sizes, *chosen.sample(sample.stress, min(OTHERS, len(sample.stress)))]
    return [*((s, "normal") for s in sizes), *((chosen.choice(sizes[: len(sample.sizes) + 3]), k) for k in chosen.sample(KINDS, STRESSES))]


def examine(
    sample: Sample, seed: int, folder: Path, worker: Worker, tally: Tally, *, most: int = ALL, enough: int = ALL, children: int = 0
) -> None:
    """Offer, apply, run and compare; all that is wrong goes into the tally.

    Args:
        sample: the program.
        seed: for what is chosen.
        folder: for its file.
        worker: runs it.
        tally: of what was done.
        most: proposals of a move that are tried.
        enough: proposals of a move in the tally after which no more are.
        children: proposals that are tried on top of one of these.
    """
    program = program_of(sample.text, folder, kernel=sample.kernel)
    found = offered(program, worker.ask(do="record", text=sample.text, sizes=sample.sizes))
    wanted = {text: p for text, p in distinct(found, seed, most).items() if tally.compared[p.move] < enough}
    tally.compared.update(p.move for p in wanted.values())
    tried = {text: (p.key, p.numerics == "exact") for text, p in wanted.items()}
    tally.programs += 1
    tally.proposals += len(found)
    tally.moves.update({p.move for p in found.values()})
    right = _compare(sample, seed, tried, worker, tally)
    if not children or not right:
        return
    # A variant is a parent like any other.
    chosen = random.Random(seed)
    parent = chosen.choice(right)
    key, exact = tried[parent]
    again = program_of(parent, folder, "child.py", kernel=sample.kernel)
    more = distinct(offered(again, worker.ask(do="record", text=parent, sizes=sample.sizes)), seed, most)
    some = chosen.sample(sorted(more), min(children, len(more)))
    _compare(sample, seed, {t: (f"{key} + {more[t].key}", exact and more[t].numerics == "exact") for t in some}, worker, tally)


def _compare(sample: Sample, seed: int, tried: dict[str, tuple[str, bool]], worker: Worker, tally: Tally) -> list[str]:
    """The texts that are right, of texts with what was done and whether that leaves every bit as it is."""
    told = worker.ask(
        do="compare", text=sample.text, calls=calls_of(sample, seed), variants=[[t, exact] for t, (_, exact) in tried.items()]
    )
    tally.tried += len(tried)
    tally.calls += told["calls"] * len(tried)
    tally.hard += told["hard"] * len(tried)
    reasons = dict(zip(tried, told["found"], strict=True))
    tally.wrong += [Wrong(seed, sample.name, tried[t][0], reason, t) for t, reason in reasons.items() if reason is not None]
    return [t for t, reason in reasons.items() if reason is None]

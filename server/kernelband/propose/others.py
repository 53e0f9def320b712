"""Other kernels that the calls launch: what moves would make of them is proposed, too, each as often as it has of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from statistics import fmean
from typing import Any

from attrs import evolve

from kernelband.propose.boundary import is_launch
from kernelband.source.model import Kernel, Place, Program
from kernelband.strategies import Facts, Other, Proposal
from kernelband.strategies import strategy as find_strategy
from kernelband.strategies.code.view import BYTES
from kernelband_worker.wire import Case, CompileFacts, LaunchFacts

LEAST = 0.1  # of the work of a call: a kernel that has less isn't worth a trial

Given = Callable[[Kernel], tuple[dict[str, Any], ...]]


def others(programs: Sequence[Program], facts: Facts, compiled: Mapping[str, CompileFacts], given: Given) -> tuple[Other, ...]:
    """What is to be known of each that has a notable part of the calls that are timed.

    Args:
        programs: of each of them, as ``source.find_others`` has them.
        facts: of the kernel that is optimized.
        compiled: facts of all launches.
        given: the constexprs that a kernel is launched with.
    """
    if is_launch(facts.cases):
        return ()
    timed = [c for c in facts.cases if c["role"] == "time"]
    out: list[Other] = []
    for program in programs:
        place = program.kernel.place
        share = fmean(_share(c, place) for c in timed) if timed else 0.0
        if share >= LEAST:
            seen = tuple(f for f in compiled.values() if f["kernel"]["qualname"] == place.qualname)
            cases = tuple(_for(c, place) for c in facts.cases)
            out.append(Other(program, evolve(facts, cases=cases, compiled=seen, constants=given(program.kernel)), share))
    return tuple(out)


def in_turns(program: Program, strategy: str, facts: Facts) -> Iterator[tuple[Program, Facts, Proposal]]:
    """What a strategy would make of the kernel and of the others, in turns by their shares; with the program and facts that it is for."""
    found = find_strategy(strategy)
    own = Other(program, facts, max(LEAST, 1.0 - sum(o.share for o in facts.others)))  # it was asked for, however little it has
    streams = [(o, found.propose(o.program, o.facts)) for o in (own, *facts.others)]
    due = [1.0 / o.share for o, _ in streams]  # when its next one comes
    while streams:
        turn = due.index(min(due))
        other, stream = streams[turn]
        proposal = next(stream, None)
        if proposal is None:
            del streams[turn], due[turn]
            continue
        due[turn] += 1.0 / other.share
        yield other.program, other.facts, proposal if other is own else _named(proposal, other.program.kernel)


def _named(proposal: Proposal, kernel: Kernel) -> Proposal:
    name = kernel.place.qualname
    return evolve(proposal, parameters={**proposal.parameters, "kernel": name}, what=f"{kernel.place.name}: {proposal.what}")


def _for(case: Case, place: Place) -> Case:
    """The case as one of that kernel."""
    return {**case, "launches": [{**x, "target": _starts(x, place)} for x in case["launches"]]}


def _starts(launch: LaunchFacts, place: Place) -> bool:
    return (launch["kernel"]["path"], launch["kernel"]["qualname"]) == (place.path, place.qualname)


def _share(case: Case, place: Place) -> float:
    """What a kernel has of a call: of its device time, where that was profiled, else of the bytes of all tensors."""
    known = case.get("shares")
    if known is not None:
        return known.get(place.name, 0.0)
    own = sum(_moved(x) for x in case["launches"] if _starts(x, place))
    return own / max(sum(map(_moved, case["launches"])), 1)


def _moved(launch: LaunchFacts) -> int:
    return sum(prod(t["shape"]) * BYTES.get(t["dtype"], 4) for t in launch["tensors"].values())

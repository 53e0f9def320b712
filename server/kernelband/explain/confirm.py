"""Whether a second judgement confirms a proof: what is compared, and in which words."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from kernelband.explain.proofshape import Proof, World
from kernelband.explain.prove import without_paths
from kernelband.explain.words import figure
from kernelband.hardware import Device
from kernelband.history.outcome import FAULTS, TIERS, Outcome, outcome
from kernelband.judge.result import Ratio
from kernelband_worker.wire import Environment

WRONG = {
    Outcome.WRONG: "it computes something else than the original",
    Outcome.NONDETERMINISTIC: "it doesn't give the same result twice",
}


@frozen
class Answer:
    """``sentence`` begins with the outcome."""

    outcome: Literal["confirmed", "not confirmed"]
    sentence: str


def differs(proof: Proof, gpu: str, device: Device, environment: Environment) -> str:
    """What is here that makes figures and machine code others than the proof's; "" where nothing is.

    Args:
        proof: the one to be checked.
        gpu: name of the GPU that would be measured on, "" where none would be.
        device: what it is, or what would be predicted for.
        environment: the versions of the worker.
    """
    there = proof.world
    if proof.measured and not gpu:
        return f"it was measured on {there.gpu or there.device}, and no GPU is available"
    if not proof.measured and gpu:
        return f"it is a prediction, and {gpu} can measure here: use `kernelband verify`"
    if (there.gpu, there.device) != (gpu, device.name):
        return f"it is about {there.gpu or there.device}, and here is {gpu or device.name}"
    for name in ("triton", "torch", "ptxas"):
        theirs, ours = getattr(there, name), environment.get(name)
        if theirs != ours:
            return f"it was made with {name} {theirs}, and here is {name} {ours}"
    ours = without_paths(environment["settings"])
    for name in sorted({*there.settings, *ours}):
        if there.settings.get(name) != ours.get(name):
            return f"it was made with {name}={there.settings.get(name, '')}, and here it is {name}={ours.get(name, '')}"
    return ""


def changed(path: str) -> Answer:
    """Of a file of the program."""
    return _no(f"{path} says neither what it said before the proof's edit nor what it says after it")


def confirm(proof: Proof, now: Proof) -> Answer:
    """What the second judgement, ``now``, says of the first.

    It must be as good again, on the same cases. Measured: its ratio may lie outside of the proof's interval by no more than its own
    interval reaches on that side, so the two meet. Predicted: the machine code is the same, and so is the tier.
    """
    missing = {c.hash for c in proof.cases if c.role == "time"} - {c.hash for c in now.cases}
    if missing:
        case = next(c.arguments for c in proof.cases if c.hash in missing)
        return _no(f"the program doesn't make the same cases again, for example not {case}")
    found = outcome(now, now.tier)
    if found in FAULTS:
        return _no(f"it {FAULTS[found]} here: {now.reason.rstrip('.')}")
    if found in WRONG:
        return _no(f"{WRONG[found]}: {now.reason.rstrip('.')}")
    if found is Outcome.EQUAL:
        return _no("it changes nothing that runs")
    if found in (Outcome.REJECTED, Outcome.SUSPECT):
        return _no(f"it can't be trusted: {now.reason.rstrip('.')}")
    if now.not_exercised:
        return _no(f"no case reaches {', '.join(now.not_exercised)}")
    return _measured(proof, now) if proof.measured else _predicted(proof, now)


def _measured(proof: Proof, now: Proof) -> Answer:
    assert proof.figures is not None
    theirs = proof.figures.score
    if now.figures is None:
        return _no(f"nothing of it was measured here: {now.reason.rstrip('.')}")
    ours = now.figures.score
    both = f"{_shown(ours)} here, and {_shown(theirs)} in the proof"
    if not now.good:
        return _no(f"it isn't surely faster: {both}{_beside(proof.world, now.world)}")
    if ours.high < theirs.low or ours.low > theirs.high:
        return _no(f"it is faster, but not as it says, for the intervals don't meet: {both}{_beside(proof.world, now.world)}")
    return Answer("confirmed", f"confirmed: verified again, {both}")


def _predicted(proof: Proof, now: Proof) -> Answer:
    if now.code != proof.code:
        return _no("it doesn't compile to the same machine code as it did")
    if now.tier != proof.tier:
        return _no(f"the forecast is {now.tier} here, and {proof.tier} in the proof")
    return Answer(
        "confirmed",
        "confirmed as a prediction: the interpreter finds it right again, it compiles to the same machine code, and is "
        f"{TIERS[0]} on {now.world.device}. Nothing was measured",
    )


def _no(why: str) -> Answer:
    return Answer("not confirmed", f"not confirmed: {why}")


def _shown(ratio: Ratio) -> str:
    return figure(ratio.value, ratio.low, ratio.high)


def _beside(there: World, here: World) -> str:
    """Versions that need not agree, where they don't."""
    names = [n for n in ("driver", "cuda", "python") if getattr(there, n) != getattr(here, n)]
    told = ", ".join(f"{n} {getattr(here, n)} here and {getattr(there, n)} there" for n in names)
    return f" ({told})" if told else ""

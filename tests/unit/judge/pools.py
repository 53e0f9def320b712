"""A final on simulated executors: its cases, candidates, and a pool that makes the executors and remembers what they did."""

from __future__ import annotations

import random

from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate, Task
from tests.unit.judge.simulation import SimulatedExecutor, case

CASES = (case("c1"), case("c2"), case("k1", "check"), case("h1", "held_out"), case("n1", "check", replayable=False))
ENTRY = {"kind": "callable", "module": "m", "path": "m.py", "name": "bench"}
PATIENCE_S = 120.0  # only a failure waits so long


def candidate(name="v", numerics="reassociates"):
    return Candidate({"id": name, "files": []}, numerics)


def judge(cases=CASES, **more):
    return Judge(Task(cases, entry=ENTRY), gpu="GPU-1", **more)


def wrong(reason):
    def answer(params):
        checked = SimulatedExecutor({}).check(params)
        checked["cases"][0].update(ok=False, reason=reason)
        return checked

    return answer


class Pool:
    """Makes executors and remembers them, and what began and ended in which order. ``scripts``: by executor name, "*" for all others."""

    maker = None

    def __init__(self, ratios, **scripts):
        self.ratios = ratios
        self.scripts = scripts
        self.made = {}
        self.rng = random.Random(0)
        self.log = []
        self.calls = []

    def __call__(self, name):
        assert name not in self.made
        self.made[name] = (self.maker or Logged)(self.ratios, self.rng, **self.scripts.get(name, self.scripts.get("*", {})))
        self.made[name].log, self.made[name].all, self.made[name].name = self.log, self.calls, name
        return self.made[name]

    def asked(self, operation, prefix="final"):
        return {n: [c[1] for c in e.calls if c[0] == operation] for n, e in self.made.items() if n.startswith(prefix)}

    @property
    def ended(self):
        return all(e.stopped for e in self.made.values())


class Logged(SimulatedExecutor):
    def call(self, operation, params, deadline_s, lock=None, *, shared=False):
        self.log.append((operation, "begin"))
        self.all.append((self.name, operation, params))
        try:
            return super().call(operation, params, deadline_s, lock, shared=shared)
        finally:
            self.log.append((operation, "end"))


class Sized(Logged):
    """``ratios``: by variant and case."""

    def turn(self, params):
        answer = super().turn({**params, "variant": None})
        for c in answer["cases"]:
            ratio = self.ratios.get(params["variant"], {}).get(c["case"], 1.0) if params["variant"] else 1.0
            c.update({key: [us / ratio for us in c[key]] for key in ("device_us", "call_us")})
        return answer


class SizedPool(Pool):
    maker = Sized


PASSES = {"ok": True, "reason": None, "output": "", "seconds": 1.0}
FAILS = {"ok": False, "reason": "AssertionError: not close", "output": "", "seconds": 1.0}


def of_a_variant(fails):
    """The original passes the entry."""

    def answer(params):
        if params["variant"] is None:
            return PASSES
        if isinstance(fails, Exception):
            raise fails
        return fails

    return answer

"""Measurements and executors out of a random generator: A/A data, true ratios, heavy tails, faults. For tests only."""

from __future__ import annotations

import math
import random
from typing import Any

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.judge.protocol import Measurement


def case(name: str, role: str = "time", **more: Any) -> Any:
    return {
        "id": name,
        "role": role,
        "replayable": True,
        "reason": None,
        "calls": 1,
        "input_sets": 3,
        "device_us": 100.0,
        "compulsory_bytes": None,
        "launches": [],
        "tensors": [],
        "memory_bytes": 1_000_000,
        "arguments": f"{name}: float32[8]",
        **more,
    }


def measurements(
    rng: random.Random,
    ratio: float = 1.0,
    *,
    cases: tuple[str, ...] = ("c1", "c2", "c3"),
    processes: int = 5,
    pairs: int = 15,
    pair_noise: float = 0.01,
    process_noise: float = 0.003,
    tails: bool = False,
    call_ratio: float | None = None,
    us: float = 100.0,
    stage: Any = "final",
) -> list[Measurement]:
    """Log-normal noise of pairs and of processes; ``tails``: t-distributed with 2 degrees of freedom, so without a variance."""

    def noise(scale: float) -> float:
        if not tails:
            return rng.gauss(0.0, scale)
        return scale * rng.gauss(0.0, 1.0) / math.sqrt(rng.expovariate(1.0))

    out = []
    for process in range(processes):
        for name in cases:
            shift = rng.gauss(0.0, process_noise)
            for pair in range(pairs):
                for quantity, true in (("device", ratio), ("call", call_ratio or ratio)):
                    original = us * math.exp(noise(pair_noise))
                    variant = us / true * math.exp(noise(pair_noise) + shift)
                    out.append(Measurement("v", name, stage, process, pair, pair % 3, quantity, original, variant, "events"))
    return out


class SimulatedExecutor:
    """Answers as an executor would. ``ratios``: true ratio by variant id; ``script``: what an operation raises or answers instead."""

    def __init__(self, ratios: dict[str | None, float], rng: random.Random | None = None, **script: Any) -> None:
        self.ratios = {None: 1.0, **ratios}
        self.rng = rng or random.Random(0)
        self.script = script
        self.calls: list[tuple[str, Any, float, str | None]] = []
        self.stopped = False
        self.seed = ""  # of the last turn
        self.shared: list[bool] = []

    def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, *, shared: bool = False) -> dict[str, Any]:
        assert not self.stopped, "called after it was stopped"
        self.shared.append(shared)
        self.calls.append((operation, dict(params), deadline_s, lock))
        self.seed = params["seed"] if operation == "turn" else self.seed
        answer = self.script.get(operation.replace("/", "_"))
        if callable(answer):
            answer = answer(params)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        return getattr(self, operation.replace("/", "_"))(params)

    def close(self) -> None:
        self.stopped = True

    def prepare(self, params: Any) -> dict[str, Any]:
        return {}

    def check(self, params: Any) -> dict[str, Any]:
        cases = [
            {"case": c, "input_set": i, "ok": True, "deterministic": True, "reason": None, "outputs": []}
            for c in params["cases"]
            for i in params["input_sets"]
        ]
        return {"cases": cases, "not_exercised": [], "interpreted": False, "out_of_bounds": [], "seconds": 0.1}

    def entry_run(self, params: Any) -> dict[str, Any]:
        return {"ok": True, "reason": None, "output": "", "seconds": 1.0}

    def time(self, params: Any) -> dict[str, Any]:
        ratio = self.ratios[params["variant"]]

        def pairs() -> list[dict[str, Any]]:
            return [
                {
                    "input_set": i % 3,
                    "original_us": 100.0 * math.exp(self.rng.gauss(0, 0.01)),
                    "variant_us": 100.0 / ratio * math.exp(self.rng.gauss(0, 0.01)),
                }
                for i in range(params["pairs"])
            ]

        timed = [
            {
                "case": c,
                "method": "events",
                "device": pairs(),
                "call": pairs(),
                "host_us": 30.0,
                "target_share": 1.0,
                "disturbed": None,
            }
            for c in params["cases"]
        ]
        return {"cases": timed, "seconds": 0.1}

    def survey(self, params: Any) -> dict[str, Any]:
        seen = {
            "host_us": 30.0,
            "device_us": 100.0,
            "wall_us": 140.0,
            "restore_us": 50.0,
            "flush_us": 30.0,
            "synchronises": False,
            "long": False,
            "buffers": 8,
        }
        return {"cases": [{"case": c, **seen} for c in params["cases"]]}

    def hide(self, params: Any) -> dict[str, Any]:
        return {"cases": [], "threads": 3}

    def turn(self, params: Any) -> dict[str, Any]:
        us = 100.0 / self.ratios[params["variant"]]
        cases = [
            {
                "case": c["case"],
                "device_us": [us * math.exp(self.rng.gauss(0, 0.01)) for _ in range(c["samples"])],
                "call_us": [us * math.exp(self.rng.gauss(0, 0.01)) for _ in range(c["samples"])],
            }
            for c in params["cases"]
        ]
        return {"cases": cases, "disturbed": None, "threads": 3, "seconds": 0.1, "supervised_s": 0.11}

    def reveal(self, params: Any) -> dict[str, Any]:
        return {"seed": self.seed, "k": 0, "input_set": 0, "outputs": [], "described": [], "aliases": {}, "leaves": []}

    def referee(self, params: Any) -> dict[str, Any]:
        return {"case": params["case"], "input_set": 0, "ok": True, "deterministic": True, "reason": None, "outputs": []}


def operation_failed(message: str, kind: str) -> KernelBandError:
    return KernelBandError(message, kind=kind)


def died(fault: str = "crashed") -> ExecutorFault:
    return ExecutorFault("The variant crashed its process: an illegal memory access.", fault=fault)

"""One example's race, in a process of the user's Python: the calls of its ``bench``, the original against each opponent, interleaved.

    PYTHONPATH=server python benchmarks/race.py JOB.json OUT.json

The timing is the product's own (``kernelband_worker.measure``): L2 flushed, submission hidden, ABBA pairs. OUT is rewritten after every
opponent, so that what was measured stays when a later one fails. JOB: ``example``; ``modules``: name -> path of a module (``original`` and
any of ``ours``, ``autotune``, ``autotune, equal seconds``); ``compile``: modes of torch.compile; ``pairs``; ``seconds`` for the tuning of
the last one; ``cases``: at most so many.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import opponents
import torch
import triton

from kernelband_worker.measure.block import Wish, time_block
from kernelband_worker.measure.cuda import CudaDevice
from kernelband_worker.measure.device import Side

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    race = Race(job, Path(sys.argv[2]))
    with torch.no_grad():
        race.run()


class Race:
    """``result`` is what OUT holds: cases with their labels, and by opponent a list of figures, or the sentence why not."""

    def __init__(self, job: dict[str, Any], out: Path) -> None:
        self.job, self.out = job, out
        self.example: str = job["example"]
        self.host = opponents.HOSTS[self.example]
        self.result: dict[str, Any] = {"example": self.example, "cases": [], "opponents": {}, "device": torch.cuda.get_device_name()}
        self.device = CudaDevice()

    def run(self) -> None:
        # In a module of its own: while do_bench only records, an autotuned kernel would keep the first configuration for good.
        calls = recorded(load("recorded", self.job["modules"]["original"]), self.host)[: self.job["cases"]]
        original = load("original", self.job["modules"]["original"])
        if not calls:
            raise SystemExit(f"bench() of {self.example} never calls {self.host}.")
        self.result["cases"] = [label(arguments) for arguments in calls]
        first = resolve(original, self.host)
        rivals: list[tuple[str, Callable[[], Callable[..., Any]]]] = [
            (name, lambda name=name, path=path: self._module(name, path))
            for name, path in self.job["modules"].items()
            if name != "original"
        ]
        if self.example in opponents.EAGER:
            rivals.append(("eager", lambda: opponents.EAGER[self.example]))
            rivals += [(f"compile {m}", lambda m=m: compiled(opponents.COMPILED[self.example], m)) for m in self.job["compile"]]
        for name, make in rivals:
            began = time.monotonic()
            try:
                found = self._race(first, make, calls)
            except Exception as error:
                said = f"{type(error).__name__}: {error}".splitlines()[0][:300]
                self.result["opponents"][name] = {"error": said}
                self._write()
                if "CUDA error" in str(error) or "illegal memory access" in str(error):
                    raise SystemExit(f"{name} broke the GPU's context: {said}") from error
                continue
            self.result["opponents"][name] = {**found, "seconds": time.monotonic() - began}
            self._write()

    def _race(self, first: Callable[..., Any], make: Callable[[], Callable[..., Any]], calls: list[Arguments]) -> dict[str, Any]:
        rival = make()
        figures: list[dict[str, Any]] = []
        tuned = 0.0
        for args, kwargs in calls:
            begin = time.monotonic()
            if hasattr(rival, "deadline"):
                rival.deadline[0] = begin + self.job["seconds"] / len(calls)  # type: ignore[attr-defined]
            got = rival(*args, **kwargs)
            torch.cuda.synchronize()
            tuned += time.monotonic() - begin
            wrong = difference(first(*args, **kwargs), got)
            del got
            sides = {
                "A": Side(lambda a=args, k=kwargs: first(*a, **k), lambda: None),
                "B": Side(lambda a=args, k=kwargs: rival(*a, **k), lambda: None),
            }
            wish = Wish(pairs=self.job["pairs"], warmup_s=0.025, input_sets=1)
            timing = time_block(self.device, lambda _set, sides=sides: sides, wish, self.device.calibrate)
            figures.append(
                {
                    "original_us": median(p["original_us"] for p in timing.device),
                    "us": median(p["variant_us"] for p in timing.device),
                    "ratio": ratio(timing.device),
                    "call_us": median(p["variant_us"] for p in timing.call),
                    "call_ratio": ratio(timing.call),
                    "method": timing.plan.method,
                    "wrong": wrong,
                }
            )
        tried = getattr(rival, "tried", None)
        return {"cases": figures, "first_call_s": tuned, "configurations": None if tried is None else tried[0] // len(calls)}

    def _module(self, name: str, path: str) -> Callable[..., Any]:
        """The host function of a version of the example; a tuned one carries its deadline and its count."""
        module = load(name, path)
        function = resolve(module, self.host)
        if not hasattr(module, "_kb_deadline"):
            return function

        def tuned(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        tuned.tried = module._kb_tried  # type: ignore[attr-defined]
        if name.endswith("seconds"):
            tuned.deadline = module._kb_deadline  # type: ignore[attr-defined]
        return tuned

    def _write(self) -> None:
        self.out.write_text(json.dumps(self.result))


def load(name: str, path: str) -> Any:
    """A module from a file; each version under a name of its own."""
    module_name = "race_" + "".join(c if c.isalnum() else "_" for c in name)
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module


def resolve(module: Any, qualname: str) -> Callable[..., Any]:
    """A function, or a method as a function of its object."""
    found = module
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def recorded(module: Any, qualname: str) -> list[Arguments]:
    """The arguments of each call that ``bench`` makes of the host function; its own timing is passed over."""
    owner_name, _, name = qualname.rpartition(".")
    owner = resolve(module, owner_name) if owner_name else module
    function = getattr(owner, name)
    calls: list[Arguments] = []

    def recorder(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return function(*args, **kwargs)

    do_bench = triton.testing.do_bench
    setattr(owner, name, recorder)
    triton.testing.do_bench = lambda call, *_args, **_kwargs: (call(), 1.0)[1]
    try:
        module.bench()
        torch.cuda.synchronize()
    finally:
        setattr(owner, name, function)
        triton.testing.do_bench = do_bench
    return calls


def compiled(function: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """torch.compile for these very shapes: it may specialise as the original's launches do."""
    torch._dynamo.reset()
    return torch.compile(function, dynamic=False, mode=mode)


def label(arguments: Arguments) -> str:
    """One line: shapes and dtypes of the tensors, plain values of the rest."""
    args, kwargs = arguments
    parts: list[str] = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            parts.append(f"{str(value.dtype).partition('.')[2]}[{'x'.join(map(str, value.shape))}]")
        elif isinstance(value, (bool, int, float)):
            parts.append(repr(value))
    return " ".join(parts)


def tensors(value: Any) -> list[torch.Tensor]:
    """In order, out of tuples."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors(v)] if isinstance(value, (tuple, list)) else []


def difference(expected: Any, got: Any) -> Any:
    """Why the opponent's result isn't the original's up to rounding; None when it is. Integers may differ by a rounding step."""
    want, have = tensors(expected), tensors(got)
    if len(want) != len(have):
        return f"{len(have)} tensors instead of {len(want)}"
    for a, b in zip(want, have, strict=True):
        if a.shape != b.shape:
            return f"shape {tuple(b.shape)} instead of {tuple(a.shape)}"
        if not a.dtype.is_floating_point:
            if bool(((a.int() - b.int()).abs() > 1).any()):
                return "integers differ by more than 1"
            continue
        x, y = a.float(), b.float()
        scale = float(x.square().mean().sqrt()) or 1.0
        coarse = any(d in (torch.float16, torch.bfloat16) for d in (a.dtype, b.dtype))
        allowed = (0.03 if coarse else 1e-3) * scale + (0.02 if coarse else 1e-3) * x.abs()
        if not bool(((x - y).abs() <= allowed).all()):
            return f"differs by up to {float((x - y).abs().max()):.3g}"
    return None


def ratio(pairs: Any) -> float:
    """Original over opponent: the median of the pairs' log-ratios."""
    return math.exp(median(math.log(p["original_us"] / p["variant_us"]) for p in pairs))


if __name__ == "__main__":
    main()

"""Under the worker's Python: records what programs launch, and compares variants with their original on an unfriendly interpreter.

Each line of standard input is a job, each line of standard output its answer.
    {"do": "record", "text", "sizes"} -> cases, as strategies get them, but for the kernel's path
    {"do": "compare", "text", "calls": [[sizes, kind], ...], "variants": [[text, exact], ...]}
        -> {"calls": how many the original does, "hard": how many of these on the adversary, "found": [null or what differs, ...]}
"""

from __future__ import annotations

import json
import linecache
import math
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # after the variable that Triton reads
import triton
from machine import Machine
from triton.runtime.interpreter import InterpretedFunction

Outputs = list[torch.Tensor]
OUTLIER = {torch.float16: 1e3, torch.float32: 1e6}


def first_configuration(self, *args, **options):
    """The interpreter can't time: an autotuner takes its first configuration."""
    MACHINE.config = self.configs[0].all_kwargs()
    try:
        return self.fn.run(*args, **{**options, **MACHINE.config})
    finally:
        MACHINE.config = None


triton.runtime.autotuner.Autotuner.run = first_configuration
# What nobody has written is NaN, or the largest integer.
torch.use_deterministic_algorithms(True, warn_only=True)
torch.set_num_threads(1)
MACHINE = Machine()


def load(text: str, name: str) -> types.ModuleType:
    """A module of that text; linecache serves it to Triton, which reads the source of each kernel."""
    path = f"/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    module.__dict__["range"] = MACHINE.plain
    sys.modules[name] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def filling(kind: str) -> Any:
    """``fill`` of a kind of values."""

    def fill(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        value = torch.randn(shape)
        if kind == "zeros":
            value = torch.zeros(shape)
        elif kind in ("tiny", "large"):
            value *= 1e-39 if kind == "tiny" else 1e30
        elif kind == "constant":
            value = torch.full(shape, 0.25)
        elif kind == "nan" and value.numel():
            value.view(-1)[value.numel() // 2] = float("nan")
        value = value.to(dtype)
        if kind == "outlier" and value.numel():
            value[(0,) * value.dim()] = OUTLIER[dtype]
        elif kind == "inf" and value.numel():
            value.view(-1)[-1] = float("inf")
        return value

    return fill


def arguments(module: Any, sizes: Sequence[int], kind: str) -> tuple[Any, ...]:
    """The same for the same module, sizes and kind."""
    torch.manual_seed(sum((i + 1) * n for i, n in enumerate(sizes)))
    return module.make(filling(kind), *sizes)


def outputs(module: Any, given: Sequence[Any]) -> Outputs:
    """What the host function gives back, and its tensors afterwards."""
    returned = module.host(*given)
    found = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    return [t.detach().clone() for t in (*found, *given) if isinstance(t, torch.Tensor)]


def reference(module: Any, given: Sequence[Any]) -> Outputs | None:
    """In float64; None where there is none."""
    if not hasattr(module, "reference"):
        return None
    wide = [t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in given]
    found = module.reference(*wide)
    return list(found) if isinstance(found, (tuple, list)) else [found]


# ---------------------------------------------------------------- what differs


def equal(want: torch.Tensor, got: torch.Tensor) -> bool:
    """The same numbers, or not a number at the same places."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    if want.dtype.itemsize == 1:
        return torch.equal(want.view(torch.uint8), got.view(torch.uint8))
    return bool(((want == got) | (want.isnan() & got.isnan())).all()) if want.is_floating_point() else torch.equal(want, got)


def close(want: torch.Tensor, got: torch.Tensor, exact: torch.Tensor | None, length: int, *, beyond: bool = False) -> str | None:
    """Whether a reassociated result is at most a few times as far from the exact one as the original's; else by how much it is not.

    Each row has its own scale: an outlier elsewhere excuses nothing.

    Args:
        want: the original's.
        got: the variant's.
        exact: in float64; None where nobody knows it, then the original's counts as that.
        length: of the longest sum.
        beyond: sums may be beyond the largest number, where their order decides between infinity and NaN.
    """
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if not want.is_floating_point() or want.dtype.itemsize == 1:
        return None if equal(want, got) else "integers differ"
    if not want.numel():
        return None
    if beyond:
        got = torch.where(want.isfinite(), got, want)
    rounding = 2 * torch.finfo(want.dtype).eps + 8 * torch.finfo(torch.float32).eps * math.sqrt(length)
    want, got = (t.double().reshape(-1, t.shape[-1]) if t.dim() > 1 else t.double().reshape(1, -1) for t in (want, got))
    if not bool((want.isnan() == got.isnan()).all()):
        return f"{int((want.isnan() != got.isnan()).sum())} elements are NaN in one only"
    exact = want if exact is None or exact.shape.numel() != want.numel() else exact.reshape(want.shape)
    finite = want.isfinite() & got.isfinite() & exact.isfinite()
    if not bool(((want == got) | finite | want.isnan() | ~exact.isfinite()).all()):
        return "infinite in one only"
    none = torch.zeros_like(want)
    scale = torch.where(finite, exact.abs(), none).amax(1)
    before = torch.where(finite, (want - exact).abs(), none).amax(1)
    after = torch.where(finite, (got - exact).abs(), none).amax(1)
    allowed = torch.maximum(4 * before, rounding * scale)
    worst = (after - allowed).argmax()
    if after[worst] <= allowed[worst]:
        return None
    return f"off by {after[worst]:.3g} at a scale of {scale[worst]:.3g}, the original by {before[worst]:.3g}"


def differences(module: Any, calls: Sequence[Any], variants: Sequence[Any]) -> dict[str, Any]:
    """Run the original, and all variants on what it does."""
    wanted: list[tuple[Any, str, Outputs, Outputs | None, bool]] = []
    for sizes, kind in calls:
        try:
            with MACHINE.at(False):
                want = outputs(module, arguments(module, sizes, kind))
        except Exception:  # noqa: BLE001  # whatever the original refuses is no comparison
            continue
        try:
            with MACHINE.at(True):
                hard = all(map(equal, want, outputs(module, arguments(module, sizes, kind))))
        except Exception:  # noqa: BLE001
            hard = False
        try:
            exact = reference(module, arguments(module, sizes, kind))
        except (RuntimeError, IndexError):  # there are no elements
            exact = None
        wanted.append((sizes, kind, want, exact, hard))
    found = [_difference(text, f"variant_{i}", exact, wanted) for i, (text, exact) in enumerate(variants)]
    InterpretedFunction.rewritten_fn.clear()
    return {"calls": len(wanted), "hard": sum(w[-1] for w in wanted), "found": found}


def _difference(text: str, name: str, exactly: bool, wanted: Sequence[Any]) -> str | None:
    where = "at its import"
    try:
        module = load(text, name)
        for sizes, kind, want, exact, hard in wanted:
            where = f"{tuple(sizes)} {kind}{' hard' if hard else ''}"
            with MACHINE.at(hard):
                got = outputs(module, arguments(module, sizes, kind))
            if len(got) != len(want):
                return f"{where}: {len(got)} results instead of {len(want)}"
            for i, (a, b) in enumerate(zip(want, got)):  # noqa: B905  # Python 3.9
                if exactly:
                    if not equal(a, b):
                        return f"{where}: result {i} isn't the same to the bit ({close(a, b, None, 1) or 'rounding'})"
                    continue
                told = close(a, b, exact[i] if exact is not None and i < len(exact) else None, max(sizes), beyond=kind == "large")
                if told is not None:
                    return f"{where}: result {i} {told}"
    except Exception as error:  # noqa: BLE001  # whatever the variant does wrong is what is reported
        return f"{where}: {type(error).__name__}: {str(error)[:300]}"
    return None


# ---------------------------------------------------------------- what is launched


def described(tensor: torch.Tensor) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "stride": list(tensor.stride()), "dtype": str(tensor.dtype).rpartition(".")[2]}


def plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def recorded(module: Any, many: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """A case for each call, with its launches."""
    cases: list[dict[str, Any]] = []
    launches: list[dict[str, Any]] = []

    def record(executor: Any, given: dict[str, Any], grid: Any, options: dict[str, Any]) -> None:
        tensors = {k: {"name": k, **described(v)} for k, v in given.items() if isinstance(v, torch.Tensor)}
        constants = {k: plain(v) for k, v in given.items() if k in executor.constexprs}
        launches.append(
            {
                "kernel": executor.fn.__qualname__.rpartition(".")[2],
                "grid": list(grid),
                "num_warps": options.get("num_warps", 4),
                "num_stages": options.get("num_stages", 3),
                "num_ctas": 1,
                "constants": constants,
                "scalars": {k: plain(v) for k, v in given.items() if k not in tensors and k not in constants},
                "tensors": tensors,
                "config": MACHINE.config,
            }
        )

    names = module.host.__code__.co_varnames
    for sizes in many:
        given = arguments(module, sizes, "normal")
        pairs = zip(names, given)  # noqa: B905  # Python 3.9
        tensors = [{"name": n, **described(v)} for n, v in pairs if isinstance(v, torch.Tensor)]
        MACHINE.record = record
        module.host(*given)
        MACHINE.record = None
        cases.append({"launches": list(launches), "tensors": tensors})
        launches.clear()
    return cases


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        job = json.loads(line)
        module = load(job["text"], "original")
        answer: Any = recorded(module, job["sizes"]) if job["do"] == "record" else differences(module, job["calls"], job["variants"])
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

"""A laboratory with cases of several sizes, where small ones want small blocks and large ones large blocks.

What a variant launches at a size is found by running its host function, with Triton and torch replaced; its time follows from that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from kernelband.propose import Draft
from kernelband.search._lab import Built
from kernelband.source import make_patch
from kernelband.source.model import Edit, Program, Span, text_hash
from kernelband.strategies import Facts, Proposal

from .fake_lab import CASE, TEXT, FakeExecutor, FakeLab

#: Case id -> number of elements; the first two are timed, the others are there for checking.
SIZES = {"small": 1000, "large": 100_000, "below": 900, "above": 90_000}
BLOCKS = (32, 128, 512)


def block_at(text: str, n: int) -> int:
    """The block that the program's host function launches with for ``n`` elements."""
    launched: list[int] = []

    class Kernel:
        def __getitem__(self, grid: Any) -> Callable[..., None]:
            return lambda *_, BLOCK, **__: launched.append(BLOCK)

    scope: dict[str, Any] = {
        "torch": SimpleNamespace(empty_like=lambda x: x),
        "triton": SimpleNamespace(jit=lambda _: Kernel(), cdiv=lambda a, b: -(-a // b)),
        "tl": SimpleNamespace(constexpr=int),
    }
    exec(re.sub(r"^import .*$", "", text, flags=re.MULTILINE), scope)
    scope["copy"](SimpleNamespace(numel=lambda: n))
    return launched[0]


def wanted(n: int) -> float:
    """The best block, as a power of two."""
    return 5 if n < 10_000 else 9


class SizedLab(FakeLab):
    """``sizes`` by case; ``want``: the best block at a size."""

    def __init__(
        self, workspace: Any, measured: bool = True, sizes: Mapping[str, int] = SIZES, want: Callable[[int], float] = wanted
    ) -> None:
        super().__init__(workspace, measured)
        self.sizes, self.want = dict(sizes), want
        self.rooms: list[str] = []
        self.toll = 1.0  # what choosing costs

    @property
    def cases(self) -> list[dict[str, Any]]:
        roles = {name: "time" if name in ("small", "large") else "check" for name in self.sizes}
        return [{**CASE, "id": name, "role": roles[name], "arguments": f"x: float32[{n}]"} for name, n in self.sizes.items()]

    def microseconds(self, text: str, case: str) -> float:
        n = self.sizes[case]
        return 100.0 * (1 + 0.2 * abs(math.log2(block_at(text, n)) - self.want(n))) * (self.toll if "<=" in text else 1.0)

    def measuring(self) -> FakeExecutor:
        return SizedExecutor(self)

    def fresh(self, name: str) -> FakeExecutor:
        self.rooms.append(name)
        return SizedExecutor(self)

    def build(self, files: Any, cases: Sequence[Any]) -> Future[Built]:
        out: Future[Built] = Future()
        text = self.text(files["id"] if files is not None else None)
        launches: list[Any] = []
        for case in cases:
            n = self.sizes[case["id"]]
            block = block_at(text, n)
            launches.append(
                {
                    **self.specialise(files, [case["id"]])["launches"][0],
                    "key": f"block {block}",
                    "constants": {"BLOCK": block},
                    "scalars": {"n": n},
                    "grid": [-(-n // block), 1, 1],
                }
            )
        specialised: Any = {"launches": launches, "host_hash": {"k:copy": text_hash(text)}}
        out.set_result(Built(specialised, {x["key"]: self.facts_of(x, x["key"]) for x in launches}))
        return out


class SizedExecutor(FakeExecutor):
    """Answers for the cases that it is asked about."""

    lab: SizedLab

    def call(
        self, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False
    ) -> dict[str, Any]:
        cases = list(params.get("cases", []))
        if operation == "time":
            self.lab.calls.append(operation)
            return {"cases": [self._timed(c, params) for c in cases], "seconds": 0.0}
        found = super().call(operation, params, deadline_s, lock, shared=shared)
        if operation == "capture":
            return {**found, "cases": self.lab.cases}
        if operation == "check":
            return {**found, "cases": [{**found["cases"][0], "case": c} for c in cases]}
        return found

    def us(self, text: str, case: str) -> float:
        return self.lab.microseconds(text, case)

    def _timed(self, case: str, params: Mapping[str, Any]) -> dict[str, Any]:
        before, after = (self.lab.microseconds(self.lab.text(v), case) for v in (None, params.get("variant")))
        pairs = [
            {"input_set": i % 3, "original_us": before * (1 + 1e-4 * i), "variant_us": after * (1 - 1e-4 * (i % 2))}
            for i in range(params["pairs"])
        ]
        one = {"method": "events", "device": pairs, "call": pairs, "host_us": 1.0, "target_share": 1.0, "disturbed": None}
        return {**one, "case": case}


class Blocks:
    """Writes every block of ``BLOCKS`` where one is written as a number, with the grid, and nothing else.

    ``kernels``: the largest block comes with another kernel, for which nothing more is written. ``model``: the one that a model writes.
    """

    name = "blocks"
    free = True

    def __init__(self, *, kernels: bool = False, model: int = 0) -> None:
        self.kernels, self.model = kernels, model

    def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
        ((path, text),) = program.texts.items()
        places = [Span(*m.span(1)) for m in re.finditer(r"(?:BLOCK=|numel\(\), )(\d+)", text)]
        out: list[Proposal] = []
        for block in BLOCKS if len(places) == 2 and strategy == "tiling" and "other" not in text else ():
            if text[places[0].start : places[0].end] != str(block):
                edits = [Edit(place, str(block)) for place in places]
                if self.kernels and block == BLOCKS[-1] and (mask := re.search(r"mask=i < n(?=\),)", text)):
                    edits.append(Edit(Span(*mask.span()), "mask=i < n, other=0.0"))
                patch = make_patch(program.texts, {path: edits})
                out.append(Proposal(strategy, "block", {"BLOCK": block}, patch, "exact", f"BLOCK {block}", "test"))
        new = [p for p in out if p.key not in already]
        authors = {p.key: "model wise" for p in new if p.parameters["BLOCK"] == self.model}
        return Draft(tuple(new[:limit]), exhausted=len(new) <= limit, authors=authors)


assert block_at(TEXT, 100) == 16

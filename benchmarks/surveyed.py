"""One node of a landscape while it is recorded, and how it is written down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field
from recorded import CORRECT, UNMEASURED

from kernelband.hardware import Device
from kernelband.hardware.work import Work
from kernelband.history.values import finite, works_to_json
from kernelband.judge.protocol import Verdict
from kernelband.search._base import Member
from kernelband.search.preparation import Baseline
from kernelband.search.profile import Profiler
from kernelband.search.trial import Trial
from kernelband.source import patch_to_json
from kernelband_worker.wire import Case, CompileFacts, LaunchSpec


@define(eq=False)
class Entry:
    """``candidate`` is there until the node was executed. ``row`` is what is written; ``value`` ranks parents."""

    id: int
    parent: int
    strategy: str
    depth: int
    rank: int
    outcome: str
    row: dict[str, Any] = field(factory=dict[str, Any], repr=False)
    facts: dict[str, CompileFacts] = field(factory=dict[str, CompileFacts], repr=False)
    candidate: Trial | None = field(default=None, repr=False)
    same_as: int | None = None
    forecast_score: float | None = None
    compile_s: float = 0.0
    value: float = 0.0

    @classmethod
    def original(cls, base: Baseline, cases: Sequence[Case]) -> Entry:
        """Node 0."""
        entry = cls(0, 0, "", 0, 0, "original", facts=dict(base.compiled.built.facts))
        entry.row = {"move": "", "key": "", "what": "the original", "numerics": "exact", "parameters": {}}
        entry.row["launches"] = _launches(base.compiled.profiler.device, base.compiled.profiler.before, None)
        entry.row["times_us"] = {"device": base.device_us, "call": base.call_us, "noise": base.noise}
        entry.row["timing"] = [c["id"] for c in cases if c["role"] == "time"]
        entry.seen(base.member)
        return entry

    @classmethod
    def of(cls, number: int, depth: int, rank: int, candidate: Trial) -> Entry:
        """A proposal that nothing is known of yet."""
        p = candidate.proposal
        entry = cls(number, candidate.parent, p.strategy, depth, rank, UNMEASURED, candidate=candidate)
        entry.row = {"move": p.move, "key": p.key, "what": p.what, "why": p.why, "numerics": p.numerics, "parameters": p.parameters}
        entry.row["patch"] = patch_to_json(p.patch)
        return entry

    @property
    def may_be_parent(self) -> bool:
        """Executed, correct, and not the same program as another node."""
        return self.outcome in CORRECT and self.same_as is None and "features" in self.row

    def duplicate_of(self, other: int, name: str = "") -> None:
        """It is the same program as another node."""
        self.same_as, self.outcome, self.candidate = other, "duplicate", None
        self.row["identity"] = name

    def failed(self, outcome: str, reason: str, compile_s: float) -> None:
        """It did not compile, or nobody could say."""
        self.outcome, self.compile_s, self.candidate = outcome, compile_s, None
        self.row["reason"] = reason

    def compiled(self, name: str, candidate: Trial, profiler: Profiler) -> None:
        """What the compiler and the forecast said."""
        assert candidate.built is not None
        self.facts = dict(candidate.facts)
        specs = candidate.launches
        found = profiler.works(specs, candidate.facts, candidate.built.traffic)
        self.row |= {"identity": name, "launches": _launches(profiler.device, found, specs)}
        if candidate.forecast is not None:
            self.forecast_score = candidate.forecast.score
            self.value = math.log(max(self.forecast_score, 1e-6))
            self.row["forecast"] = {"score": candidate.forecast.score, "tier": candidate.forecast.tier, "fact": candidate.forecast.fact}
        self.row["headroom"] = dict(profiler.member(self.id, (1.0, 1.0), found, None).headroom)

    def judged(self, outcome: str, verdict: Verdict) -> None:
        """What the device said."""
        result = verdict.result
        self.outcome = outcome
        self.row["seconds"] = verdict.seconds
        if result.reason:
            self.row["reason"] = result.reason
        pairs = [m for m in verdict.measurements if m.quantity == "device" and not m.superseded]
        self.row["pairs"] = len(pairs) // max(1, len({m.case for m in pairs}))
        if result.score is not None and result.score.value > 0:
            self.value = math.log(result.score.value)
            self.row["score"] = [self.value, _reach(result.score.value, result.score.high)]
        self.row["cases"] = {
            c.case: {
                "device": math.log(c.device.value),
                "device_reach": _reach(c.device.value, c.device.high),
                "call": math.log(c.call.value),
                "call_reach": _reach(c.call.value, c.call.high),
                "device_us": c.device_after_us,
                "call_us": c.call_after_us,
            }
            for c in result.cases
        }

    def seen(self, member: Member) -> None:
        """As policies see it."""
        self.row |= {"features": list(member.features), "headroom": dict(member.headroom)}

    def to_json(self, same: int | None) -> dict[str, Any]:
        """``same`` is the node at the end of the chain of duplicates."""
        own = {
            "id": self.id,
            "parent": self.parent,
            "strategy": self.strategy,
            "depth": self.depth,
            "rank": self.rank,
            "outcome": self.outcome,
            "compile_s": self.compile_s,
        }
        return own | ({"same_as": same} if same is not None else {}) | self.row


def nodes_to_json(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """All nodes, duplicates of duplicates resolved, with numbers of five digits."""
    by_id = {e.id: e for e in entries}

    def end(entry: Entry) -> int | None:
        at = entry.same_as
        while at is not None and by_id[at].same_as is not None:
            at = by_id[at].same_as
        return at

    return [rounded(finite(e.to_json(end(e)))) for e in entries]


def facts_to_json(entries: Sequence[Entry]) -> dict[str, Any]:
    """What the compiler said, once for each distinct compilation; source lines as numbers, no paths."""
    out: dict[str, Any] = {}
    for entry in entries:
        for key, facts in entry.facts.items():
            if key not in out:
                kept = {k: v for k, v in facts.items() if k not in ("accesses", "warnings", "target", "kernel", "key")}
                kept["kernel"] = facts["kernel"]["qualname"]
                kept["accesses"] = [[a["opcode"], a["space"], a["store"], a["bits"], a["count"], a["line"]] for a in facts["accesses"]]
                kept["warnings"] = [[w["code"], w["line"]] for w in facts["warnings"]]
                out[key] = rounded(finite(kept))
    return out


def rounded(value: Any) -> Any:
    """Floats to five significant digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [rounded(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)


def _launches(device: Device, found: Sequence[Work], specs: Sequence[LaunchSpec] | None) -> list[dict[str, Any]]:
    rows = works_to_json(found)
    by_place: dict[tuple[str, str], list[LaunchSpec]] = {}
    for spec in specs or ():
        by_place.setdefault((spec["case"], spec["key"]), []).append(spec)
    for row, work in zip(rows, found, strict=True):
        held, waves = work.occupancy(device), work.waves(device)
        row |= {"occupancy": held.fraction, "resident_warps": held.warps, "waves": waves.count, "filled": waves.filled}
        row |= {"bits": work.bits, "loads_in_flight": work.loads_in_flight}
        same = by_place.get((work.case, work.facts["key"]))
        if same:
            spec = same.pop(0)
            row |= {"grid": list(spec["grid"]), "constants": _plain(spec["constants"]), "scalars": _plain(spec["scalars"])}
    return rows


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v if isinstance(v, (int, float, str, bool)) or v is None else str(v) for k, v in values.items()}


def _reach(value: float, high: float) -> float | None:
    """Half-width of the interval, as a log-ratio; None when it is not known."""
    return math.log(high / value) if math.isfinite(high) and high > 0 and value > 0 else None

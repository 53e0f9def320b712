"""A landscape: what every move does to one kernel, measured once and kept, so that policies can be compared without a GPU.

A node is a proposal for a parent; node 0 is the original. A node whose program is that of an earlier one (judge.identity) names it in
``same_as`` and has no figures of its own. ``unmeasured`` nodes compiled, but the time of the recording was over before their turn.
The file is gzipped JSON: all of this, and for each launch what the compiler said, so that a forecast can be tried on it.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import attrs
from attrs import field, frozen

from kernelband.errors import UsageError
from kernelband.hardware import Device, find_device
from kernelband.hardware.work import Work
from kernelband_worker.wire import CompileFacts

FORMAT = 1
#: Outcomes of nodes that can be parents: executed, and correct.
CORRECT = frozenset({"faster", "slower", "inconclusive", "equal"})
UNMEASURED = "unmeasured"


@frozen
class CaseLog:
    """One timing case of a node: log of original over variant with the half-width of its 95 % interval, and the variant's median."""

    device: float
    device_reach: float | None
    call: float
    call_reach: float | None
    device_us: float
    call_us: float

    def of(self, objective: str) -> tuple[float, float | None, float]:
        """Log-ratio, half-width and microseconds in the objective."""
        if objective == "device":
            return self.device, self.device_reach, self.device_us
        return self.call, self.call_reach, self.call_us


@frozen
class Node:
    """``rank``: the author's order within (parent, strategy). ``forecast``: its score against the original, None where there was none."""

    id: int
    parent: int
    strategy: str
    move: str
    key: str
    rank: int
    outcome: str
    same_as: int | None = None
    forecast: float | None = None
    tier: str = "unclear"
    identity: str = ""
    cases: dict[str, CaseLog] = field(factory=dict[str, CaseLog], repr=False)
    features: tuple[float, ...] = ()
    headroom: dict[str, float] = field(factory=dict[str, float], repr=False)
    what: str = field(default="", repr=False)


@frozen
class Landscape:
    """``nodes`` by id, the original included. ``facts`` is the whole file, for whoever wants launches, versions or dates."""

    example: str
    kernel: str
    device: str
    objective: str
    nodes: dict[int, Node] = field(repr=False)
    facts: dict[str, Any] = field(repr=False, factory=dict[str, Any])

    @cached_property
    def children(self) -> dict[tuple[int, str], tuple[Node, ...]]:
        """By (parent, strategy), in the author's order; nodes that were not executed are left out."""
        out: dict[tuple[int, str], list[Node]] = {}
        for node in self.nodes.values():
            if node.id and node.outcome != UNMEASURED:
                out.setdefault((node.parent, node.strategy), []).append(node)
        return {arm: tuple(sorted(found, key=lambda n: n.rank)) for arm, found in out.items()}

    def best(self, objective: str | None = None) -> float:
        """The largest mean log-ratio over cases of a node that may be called faster; 0 where the original is the best."""
        logs = [self.log(n, objective) for n in self.nodes.values() if n.outcome == "faster" and n.cases]
        return max([0.0, *logs])

    @cached_property
    def original_us(self) -> dict[str, float]:
        """Median of the original in the objective, by timing case."""
        return dict(self._rows[0]["times_us"][self.objective])

    @property
    def device_us(self) -> dict[str, float]:
        """The original's device time by timing case, in microseconds."""
        return dict(self._rows[0]["times_us"]["device"])

    def works(self, node: int) -> tuple[Work, ...]:
        """A node's launches as a forecast takes them; empty where it didn't compile."""
        row, device = self._rows[node], find_device(self.device)
        names = {a.name for a in attrs.fields(Work)}
        return tuple(
            Work(facts=_facts(self.facts["facts"][x["key"]], x["key"], device), **{k: v for k, v in x.items() if k in names})
            for x in row.get("launches", ())
        )

    @cached_property
    def _rows(self) -> dict[int, dict[str, Any]]:
        return {row["id"]: row for row in self.facts["nodes"]}

    def log(self, node: Node, objective: str | None = None) -> float:
        """Mean over timing cases of the node's log-ratio; 0 for the original."""
        return sum(c.of(objective or self.objective)[0] for c in node.cases.values()) / len(node.cases) if node.cases else 0.0


def save(path: Path, value: Mapping[str, Any]) -> None:
    """Write it whole or not at all; same content, same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False, ensure_ascii=False)
    part = path.with_name(path.name + ".part")
    part.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    os.replace(part, path)


def load(path: Path) -> Landscape:
    """Read a recording.

    Raises:
        UsageError: it is none, or of another format.
    """
    try:
        value = cast("dict[str, Any]", json.loads(gzip.decompress(path.read_bytes())))
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(f"{path} can't be read as a landscape ({error}): record it again with benchmarks/landscape.py.") from error
    if value.get("format") != FORMAT:
        raise UsageError(f"{path} has format {value.get('format')}, this version reads {FORMAT}: record it again.")
    nodes = {n["id"]: _node(n) for n in value["nodes"]}
    return Landscape(value["example"], value["kernel"], value["device"], value["objective"], nodes, value)


def _node(value: Mapping[str, Any]) -> Node:
    forecast = cast("dict[str, Any]", value.get("forecast") or {})
    return Node(
        id=value["id"],
        parent=value["parent"],
        strategy=value["strategy"],
        move=value["move"],
        key=value["key"],
        rank=value["rank"],
        outcome=value["outcome"],
        same_as=value.get("same_as"),
        forecast=forecast.get("score"),
        tier=forecast.get("tier", "unclear"),
        identity=value.get("identity", ""),
        cases={name: CaseLog(**logs) for name, logs in value.get("cases", {}).items()},
        features=tuple(value.get("features") or ()),
        headroom=dict(value.get("headroom") or {}),
        what=value.get("what", ""),
    )


def _facts(value: Mapping[str, Any], key: str, device: Device) -> CompileFacts:
    """As ``surveyed.facts_to_json`` wrote them."""
    names = ("opcode", "space", "store", "bits", "count", "line")
    accesses = [{**dict(zip(names, access, strict=True)), "path": None} for access in value["accesses"]]
    warnings = [{"code": code, "line": line} for code, line in value["warnings"]]
    return cast("CompileFacts", {**value, "key": key, "target": device.target, "accesses": accesses, "warnings": warnings})

"""The facts of a run that hints are made of: what was compiled for its GPU, and what the interpreter saw when the program was captured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from kernelband.errors import HardwareError
from kernelband.explain.hints import Launched, Material, about
from kernelband.explain.inspect import out_of_bounds, traffic_warnings
from kernelband.explain.linecosts import LineCost, line_costs, merged
from kernelband.hardware import find_device
from kernelband.hardware.work import Work
from kernelband.history import Store, trials
from kernelband_worker.wire import Case, CompileFacts


def works(store: Store, run: str, variant: int = 0) -> tuple[Work, ...]:
    """The launches that were kept with a variant; without those whose code wasn't compiled.

    Raises:
        HistoryError: the database can't be read.
    """
    kept: list[dict[str, Any]] = _kept(store, run, variant).get("launches") or []
    found = store.rows("SELECT key, facts FROM facts WHERE run = ? AND variant = ?", [run, variant]) if kept else []
    facts = {str(r["key"]): cast("CompileFacts", json.loads(r["facts"])) for r in found}
    return tuple(Work(facts=facts[w["key"]], **{k: v for k, v in w.items() if k != "key"}) for w in kept if w["key"] in facts)


def read_material(store: Store, run: str, kernel: str, gpu: str, variant: int = 0) -> Material | None:
    """Of a variant of the run, 0 for the original; None where nothing of it was compiled.

    What the interpreter saw line by line is kept of the original only.

    Raises:
        HistoryError: the database can't be read.
    """
    launched = [w for w in works(store, run, variant) if w.kernel == kernel]
    if not launched:
        return None
    try:
        device = find_device(gpu)
    except HardwareError:
        device = None
    rows = trials.cases(store, run) if variant == 0 else ()
    cases = [cast("Case", c.facts) for c in sorted(rows, key=lambda c: c.role != "time")]
    seen = _constants(cases)
    outside = _kept(store, run, 0).get("out_of_bounds") or () if variant == 0 else ()
    return Material(
        device.name if device is not None else gpu,
        device,
        tuple(Launched(w, about(seen.get(w.facts["key"], {}), w.facts["num_warps"])) for w in launched),
        (*traffic_warnings(cases, kernel), *out_of_bounds(outside)),
        _lines(cases, {w.facts["key"]: w.facts for w in launched}),
    )


def _lines(cases: Sequence[Case], facts: Mapping[str, CompileFacts]) -> tuple[LineCost, ...]:
    launches = [x for c in cases for x in c.get("launches") or () if x.get("specialization") in facts]
    return merged([line_costs(facts[x["specialization"]], x) for x in launches])


def _kept(store: Store, run: str, variant: int) -> dict[str, Any]:
    rows = store.rows("SELECT forecast FROM variants WHERE run = ? AND id = ?", [run, variant])
    return dict(json.loads(rows[0]["forecast"])) if rows else {}


def _constants(cases: Sequence[Case]) -> dict[str, Mapping[str, Any]]:
    """By the key of the specialisation."""
    return {x["specialization"]: x.get("constants") or {} for c in cases for x in c.get("launches") or () if "specialization" in x}

"""The facts of a run that hints are made of: what was compiled for its GPU, and what the interpreter saw when the program was captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from kernelband.errors import HardwareError
from kernelband.explain.hints import Launched, Material, about
from kernelband.explain.inspect import out_of_bounds, traffic_warnings
from kernelband.hardware import find_device
from kernelband.history import Store, trials, view
from kernelband_worker.wire import Case


def read_material(store: Store, run: str, kernel: str, gpu: str, variant: int = 0) -> Material | None:
    """Of a variant of the run, 0 for the original; None where nothing of it was compiled.

    What the interpreter saw line by line is kept of the original only.

    Raises:
        HistoryError: the database can't be read.
    """
    launched = [w for w in view.works(store, run, variant) if w.kernel == kernel]
    if not launched:
        return None
    try:
        device = find_device(gpu)
    except HardwareError:
        device = None
    rows = trials.cases(store, run) if variant == 0 else ()
    cases = [cast("Case", c.facts) for c in sorted(rows, key=lambda c: c.role != "time")]
    seen = _constants(cases)
    outside = view.forecast(store, run, 0).get("out_of_bounds") or () if variant == 0 else ()
    return Material(
        device.name if device is not None else gpu,
        device,
        tuple(Launched(w, about(seen.get(w.facts["key"], {}), w.facts["num_warps"])) for w in launched),
        (*traffic_warnings(cases, kernel), *out_of_bounds(outside)),
    )


def _constants(cases: Sequence[Case]) -> dict[str, Mapping[str, Any]]:
    """By the key of the specialisation."""
    return {x["specialization"]: x.get("constants") or {} for c in cases for x in c.get("launches") or () if "specialization" in x}

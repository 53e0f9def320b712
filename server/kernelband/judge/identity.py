"""When a variant is the same program as another: a stronger word than the same machine code (JUDGING, section 2).

Equal needs, for every case, the same ordered list of launches (machine code without debug information, warps, CTAs, shared memory, grid,
scalars) and the same syntax tree of every host function. The machine code alone would miss a new grid or a dropped copy.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import sha256

from kernelband_worker.wire import CompileFacts, SpecialiseResult

Launch = tuple[str, int, int, int, tuple[int, ...], str]  # machine code, warps, CTAs, shared bytes, grid, scalars


def identity(specialised: SpecialiseResult, facts: Mapping[str, CompileFacts], kernels: Collection[str]) -> str:
    """A name for a program, equal for equal programs only; "" where nothing can be said: it launches nothing, or not all was compiled.

    Args:
        specialised: its launches on the cases.
        facts: compile facts by LaunchSpec key.
        kernels: qualnames that may be edited and are no host functions: their machine code speaks for them.
    """
    launches: dict[str, list[Launch]] = {}
    for launch in specialised["launches"]:
        compiled = facts.get(launch["key"])
        if compiled is None:
            return ""
        scalars = json.dumps(launch["scalars"], sort_keys=True, default=str)
        shape = compiled["num_warps"], compiled["num_ctas"], compiled["shared_bytes"]
        launches.setdefault(launch["case"], []).append((compiled["code_hash"], *shape, tuple(launch["grid"]), scalars))
    if not launches:
        return ""
    hosts = {name: digest for name, digest in specialised["host_hash"].items() if name.partition(":")[2] not in kernels}
    content = sorted((case, tuple(found)) for case, found in launches.items()), sorted(hosts.items())
    return sha256(repr(content).encode()).hexdigest()[:32]

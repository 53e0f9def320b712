"""What functions cost, read from compiled code."""

from __future__ import annotations

import pytest
from tests.function_costs import AMD, NVIDIA

BLOCK = 512
SPECIAL = ("MUFU", "v_exp", "v_log", "v_rcp", "v_rsq", "v_sqrt")
#: One of each kind: a single special operation, one with arithmetic round it, none, a quotient. The rest is compiled for one NVIDIA GPU.
FEW = ("exp2", "exp", "log", "div")


def mix(compiled, make, name, target):
    """Special operations and all vector instructions of a lane for one element."""
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32"}
    spec = make.launch("evaluate", signature, {"BLOCK": BLOCK, "NAME": name}, list(signature), target=target)
    opcodes = compiled(spec, target)["opcodes"]
    elements = BLOCK / (4 * target["warp_size"])
    counted = {k: v for k, v in opcodes.items() if target["backend"] == "cuda" or k.startswith("v_")}
    return sum(v for k, v in counted.items() if k.startswith(SPECIAL)) / elements, sum(counted.values()) / elements


@pytest.mark.parametrize("arch", [80, 90, 100, "gfx942"])
def test_functions_cost_what_the_forecast_counts(compiled, make, arch):
    target = make.hip(arch) if isinstance(arch, str) else make.cuda(arch)
    costs = AMD if isinstance(arch, str) else NVIDIA
    none = mix(compiled, make, "", target)
    for name in FEW if arch in (80, 100) else costs:
        special, instructions = costs[name]
        found = mix(compiled, make, name, target)
        assert found[0] - none[0] == special, name
        assert found[1] - none[1] == pytest.approx(instructions, rel=0.15, abs=1.1), name

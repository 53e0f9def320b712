"""Operators that the program registers with torch: the original's stay what they are, and a variant's functions run its own."""

from __future__ import annotations

import pytest
import torch

CUSTOM = """
import torch

@torch.library.custom_op("kb_made_a::grow", mutates_args=())
def grow(x: torch.Tensor) -> torch.Tensor:
    return x + BY

@grow.register_fake
def _(x):
    return torch.empty_like(x)

@torch.library.register_kernel("kb_made_a::grow", "cpu")
def _(x):
    return x + BY

BY = 1
"""
DEFINED = """
import torch

lib = torch.library.Library("kb_made_b", "DEF")
lib.define("grow(Tensor x) -> Tensor")
lib.define("grow.by(Tensor x, int by) -> Tensor")
torch.library.define("kb_made_b::shrink", "(Tensor x) -> Tensor")

def grow(x):
    return x + BY

lib.impl("grow", grow, "CPU")
lib.impl("grow.by", lambda x, by: x + by, "CPU")
torch.library.impl("kb_made_b::shrink", "cpu")(lambda x: x - BY)
torch.library.register_fake("kb_made_b::grow")(torch.empty_like)
torch.library.register_fake("kb_made_b::shrink", torch.empty_like, lib=lib)
BY = 1
"""
HELPER = """
import torch

lib = torch.library.Library("kb_made_c", "FRAGMENT")

def direct(name, function):
    lib.define(name + torch.library.infer_schema(function, mutates_args=()))
    lib.impl(name, function, "CPU")
    lib._register_fake(name, torch.empty_like)
"""
HELPED = """
import torch
from helper_kb import direct

def grow(x: torch.Tensor) -> torch.Tensor:
    return x + BY

direct("grow", grow)
BY = 1
"""
PROGRAMS = {
    "custom_op": ({"ops_kb_a.py": CUSTOM}, "ops_kb_a", "kb_made_a"),
    "Library": ({"ops_kb_b.py": DEFINED}, "ops_kb_b", "kb_made_b"),
    "a helper's Library": ({"helper_kb.py": HELPER, "ops_kb_c.py": HELPED}, "ops_kb_c", "kb_made_c"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_variants_operators_are_its_own(load, name):
    files, module, namespace = PROGRAMS[name]
    served, loader = load(files)
    original, x = loader.original(module), torch.zeros(2)
    variants = []
    for by in (10, 20):
        loader.register(served.variant(f"{by}", **{module: files[f"{module}.py"].replace("BY = 1", f"BY = {by}")}))
        variants.append(loader.variant(f"{by}", module))
    assert [m.grow(x)[0].item() for m in (original, *variants)] == [1, 10, 20]
    assert getattr(torch.ops, namespace).grow(x)[0].item() == 1


def test_what_others_defined_is_left_as_it_is(load):
    texts = {"others_kb.py": 'import torch\n@torch.library.custom_op("kb_made_d::one", mutates_args=())\n'}
    texts["others_kb.py"] += "def one(x: torch.Tensor) -> torch.Tensor:\n    return x + 1\n"
    texts["over_kb.py"] = "import torch\n"
    served, loader = load(texts)
    loader.original("others_kb")
    loader.original("over_kb")
    over = (
        "import torch, late_kb\n"
        "lib = torch.library.Library('aten', 'IMPL')\n"
        "lib.impl('neg', lambda x: x + 5, 'CPU')\n"
        "torch.library.register_kernel('kb_made_d::one', 'cpu', lambda x: x + 5)\n"
    )
    served.files["late_kb.py"] = texts["others_kb.py"].replace("one", "two")  # no sibling, though a variant is the first to import it
    loader.register(served.variant("over", over_kb=over))
    loader.variant("over", "over_kb")
    x = torch.ones(2)
    assert torch.neg(x)[0].item() == -1
    assert torch.ops.kb_made_d.one(x)[0].item() == 2
    assert torch.ops.kb_made_d.two(x)[0].item() == 2


def test_a_traced_operators_variant_runs_its_own_function(load):
    text = (
        "import torch\nfrom torch.library import triton_op\n"
        "@triton_op('kb_made_e::grow', mutates_args={})\ndef grow(x: torch.Tensor) -> torch.Tensor:\n    return x + 1\n"
    )
    served, loader = load({"traced_kb.py": text})
    original = loader.original("traced_kb")
    loader.register(served.variant("traced", traced_kb=text.replace("+ 1", "+ 7")))
    assert loader.variant("traced", "traced_kb").grow(torch.zeros(1)).item() == 7
    assert original.grow(torch.zeros(1)).item() == 1

from __future__ import annotations

import sys
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband_worker.cases import arguments
from kernelband_worker.cases.context import StandIn
from kernelband_worker.cases.tensors import NotReplayable, rebuild


def replay(tree, **more):
    data, storages, tensors = arguments.dump(tree)
    copies = [v.clone() for v in storages.views]
    loaded, again = arguments.load(data, copies, lambda name: sys.modules[name], **more)
    assert len(again) == len(tensors)
    return loaded


def test_aliases_views_and_identity_survive():
    base = torch.arange(24.0).reshape(4, 6)
    tree = replay({"a": base, "b": base[1:, ::2], "same": base, "t": base.T})
    assert tree["a"] is tree["same"]
    tree["b"][0, 0] = -1
    assert tree["a"][1, 0] == -1
    assert tree["t"].stride() == (1, 6)
    assert base[1, 0] == 6


def test_parameters_and_gradients_survive():
    module = torch.nn.Linear(3, 2)
    loaded = replay((module, torch.ones(2, requires_grad=True)))
    assert isinstance(loaded[0].weight, torch.nn.Parameter)
    assert torch.equal(loaded[0].weight, module.weight)
    assert loaded[1].requires_grad
    assert loaded[1].is_leaf


def test_a_float64_tree_for_the_reference():
    data, storages, _ = arguments.dump((torch.ones(3), torch.ones(3, dtype=torch.int32)))
    wide = [storages.views[0].view(torch.float32).double().view(torch.uint8), storages.views[1]]
    loaded, _ = arguments.load(data, wide, lambda name: sys.modules[name], double=True)
    assert [t.dtype for t in loaded] == [torch.float64, torch.int32]


def test_functions_that_no_name_reaches_go_by_value():
    size = 7

    def outer(x, add=3):
        return inner(x) + add + size

    def inner(x):
        return 2 * x

    loaded = replay([outer, lambda meta: (meta["n"] // size,)])
    assert loaded[0](1) == 12
    assert loaded[1]({"n": 21}) == (3,)


def test_a_recursive_closure():
    def count(n):
        return 0 if n == 0 else 1 + count(n - 1)

    assert replay([count])[0](5) == 5


def test_a_context_becomes_a_stand_in():
    kept = {}

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept["forward"] = replay([ctx])[0]
            ctx.save_for_backward(x)
            ctx.factor = 2
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            kept["backward"] = replay([ctx])[0]
            return dy * ctx.factor

    Double.apply(torch.ones(3, requires_grad=True)).sum().backward()
    assert isinstance(kept["forward"], StandIn)
    assert kept["forward"].needs_input_grad == (True,)
    kept["forward"].save_for_backward(1)
    assert kept["forward"].to_save == (1,)
    assert kept["backward"].factor == 2
    assert torch.equal(kept["backward"].saved_tensors[0], torch.ones(3))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (threading.Lock(), "_thread.lock"),
        (open, ""),  # a builtin goes by name
        ((x for x in ()), "generator"),
        (torch.ones(2).to_sparse(), "sparse"),
        (torch.ones(2, device="meta"), "no memory of its own"),
    ],
)
def test_what_cannot_be_recorded_is_named(value, words):
    if not words:
        assert replay([value]) == [value]
        return
    with pytest.raises(NotReplayable, match=words):
        arguments.dump({"x": value})


_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5))


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        _LEAVES,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4) | st.tuples(inner, inner),
    )
)
def test_any_plain_tree(tree):
    assert replay(tree) == tree


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from([torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.bool]),
)
def test_any_tensor(shape, dtype):
    tensor = (torch.rand(*shape) * 4).to(dtype).transpose(0, -1)
    loaded = replay([tensor])[0]
    assert loaded.stride() == tensor.stride()
    assert torch.equal(loaded, tensor)


def test_rebuild_is_exact_about_offsets():
    storage = torch.arange(10, dtype=torch.int32).view(torch.uint8)
    made = rebuild(("tensor", 0, 0, 3, (2, 2), (4, 1), torch.int32, False, False), [storage])
    assert made.tolist() == [[3, 4], [7, 8]]

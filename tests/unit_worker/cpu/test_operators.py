"""The program's code that torch calls from inside: its operators, its backward functions, its hooks."""

from __future__ import annotations

import gc

import pytest
import torch


@pytest.fixture(scope="module")
def operators(program):
    return program("operators").module


@pytest.fixture
def x(shim):
    return torch.arange(100.0, device="cuda")


@pytest.mark.parametrize(
    "double",
    [
        lambda made, x: made.scale(x, 2.0),
        lambda made, x: torch.ops.kernelband_tests.scale(x, 2.0),
        lambda made, x: torch.ops.kernelband_tests.scale.default(x, 2.0),
        lambda made, x: made.scale_traced(x, 2.0),
        lambda made, x: torch.ops.kernelband_tests_older.scale(x, 2.0),
        lambda made, x: made.not_compiled(x),
        lambda made, x: made.not_traced(x),
        lambda made, x: made.compiled(x),
        lambda made, x: torch.compile(made.scale)(x, 2.0),
    ],
)
def test_an_operator_gets_the_devices_tensors(operators, x, double):
    doubled = double(operators, x)
    assert doubled.is_cuda
    assert torch.equal(doubled, x + x)


def test_an_operator_for_the_device_only_writes_to_its_argument(operators, x):
    operators.scale_inplace(x, 3.0)
    assert x[33] == 99


def test_the_hosts_tensors_get_the_hosts_kernel(operators):
    assert torch.ops.kernelband_tests_older.scale(torch.ones(3), 2.0).tolist() == [-1, -1, -1]


def test_an_operator_made_anew_has_its_new_kernel(shim):
    def make(by):
        @torch.library.custom_op("kernelband_tests::made_again", mutates_args=(), device_types="cuda")
        def made_again(x: torch.Tensor) -> torch.Tensor:
            return x + by

        return made_again

    x = torch.zeros(1, device="cuda")
    assert make(1)(x).item() == 1
    assert make(2)(x).item() == 2


def test_an_operator_is_differentiated_on_the_device(operators, x):
    x.requires_grad_()
    operators.scale(x, 2.0).sum().backward()
    assert x.grad.is_cuda
    assert x.grad.tolist() == [2.0] * 100


@pytest.fixture
def replacing(shim):
    """Replaces operators of torch as a program does for CUDA, and says which of its kernels were called."""
    library = torch.library.Library("aten", "IMPL")
    called = []

    def replace(operator, kernel):
        def counted(*args, **kwargs):
            called.append(operator)
            return kernel(*args, **kwargs)

        library.impl(operator, counted, "CUDA")

    yield library, replace, called
    library._destroy()


def test_a_replaced_operator_of_torch_is_the_programs_on_the_device(replacing, x):
    library, replace, called = replacing

    def tripled(x):
        assert x.is_cuda
        return x * torch.full((), 3.0, device=x.device)

    replace("relu", tripled)
    assert torch.nn.ReLU()(x).tolist() == (x * 3).tolist()
    assert torch.relu(torch.ones(2)).tolist() == [1, 1]
    assert torch.relu(x.cpu()).tolist() == x.tolist()
    assert called == ["relu"]
    library._destroy()
    assert torch.relu(x).tolist() == x.tolist()


def test_replaced_operators_are_called_by_each_other_and_by_backward(replacing, x):
    _, replace, called = replacing
    replace("_softmax", lambda x, dim, half: torch.exp(x - x.amax(dim, keepdim=True)).div(torch.ones((), device=x.device)))
    replace("exp", lambda x: torch.full_like(x, 7.0))
    replace("_softmax_backward_data", lambda grad, out, dim, dtype: grad + out)
    x.requires_grad_()
    made = torch.softmax(x, 0)
    assert made.is_cuda
    assert made.tolist() == [7.0] * 100
    made.sum().backward()
    assert x.grad.is_cuda
    assert x.grad.tolist() == [8.0] * 100
    assert called == ["_softmax", "exp", "_softmax_backward_data"]


def test_a_replaced_factory_is_told_its_device(replacing):
    _, replace, called = replacing

    def ones(size, *, dtype=None, layout=None, device=None, pin_memory=None):
        assert device.type == "cuda"
        return torch.full(size, 5.0, dtype=dtype, device=device)

    replace("ones", ones)
    assert torch.ones(2, device="cuda").tolist() == [5, 5]
    assert torch.ones(2).tolist() == [1, 1]
    assert called == ["ones"]


def test_a_library_that_is_forgotten_replaces_nothing(shim, x):
    library = torch.library.Library("aten", "IMPL")
    library.impl("relu", lambda x: x * 0 + 42, "CUDA")
    assert torch.relu(x)[0] == 42
    del library
    gc.collect()
    assert torch.relu(x).tolist() == x.tolist()


def test_an_operator_of_a_forgotten_library_can_be_made_anew(shim):
    for by in (1, 2):
        library = torch.library.Library("kernelband_tests_forgotten", "DEF")
        library.define("more(Tensor x) -> Tensor")
        library.impl("more", lambda x, by=by: x + by, "CUDA")
        assert torch.ops.kernelband_tests_forgotten.more(torch.zeros(1, device="cuda")).item() == by
        del library
        gc.collect()


def test_only_the_devices_tensors_with_elements_are_the_programs(replacing):
    _, replace, called = replacing
    replace("ones", lambda size, **options: torch.full(size, 5.0))
    replace("relu", lambda x: torch.full(x.shape, 9.0))
    assert torch.ones(3, device="meta").device.type == "meta"
    assert torch.relu(torch.empty(3, device="meta")).device.type == "meta"
    assert torch.relu(torch.eye(2, device="cuda").to_sparse()).to_dense().tolist() == [[1, 0], [0, 1]]
    assert called == []


def test_a_replacement_that_wants_torchs_keys_gets_some(shim, x):
    library = torch.library.Library("aten", "IMPL")
    library.impl("relu", lambda keys, x: x * 0 + 42, "CUDA", with_keyset=True)
    assert torch.relu(x)[0] == 42
    library._destroy()


@pytest.mark.parametrize("operator", ["any", "clone", "bitwise_not", "copy_", "zeros", "ones", "bitwise_or.Tensor"])
def test_what_is_ours_never_calls_the_programs_operators(program, replacing, operator):
    """After a launch of which a sample ran, masks of what is unknown are made and combined with each operation of the program's."""
    mixed = program("mixed")
    _, replace, called = replacing
    y = mixed.module.run_copy(torch.arange(1.0, 64 * 200 + 1, device="cuda"))
    replace(operator, lambda *args, **options: mixed.module.run_copy(torch.empty(64 * 200, device="cuda")))
    z = torch.where(y * 2 > 0, y, y + 1)
    assert mixed.machine.memory.unknown(z).sum() > 1000
    assert called == []


def test_copies_between_host_and_device_are_not_the_programs(replacing, x):
    _, replace, called = replacing
    replace("clone", lambda x, memory_format=None: torch.zeros_like(x))
    replace("_to_copy", lambda x, **options: torch.zeros_like(x))
    host = x.cpu()
    assert host.tolist() == x.tolist()
    assert host.to("cuda").tolist() == x.tolist()
    assert called == []
    assert x.clone().sum() == 0
    assert x.to(torch.float64).sum() == 0
    assert called == ["clone", "_to_copy"]


class Checked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        assert gradient.is_cuda
        return gradient + torch.ones(gradient.shape, device="cuda")


@pytest.mark.parametrize(
    "differentiate",
    [
        lambda y, x: y.backward(),
        lambda y, x: torch.autograd.backward(y),
        lambda y, x: setattr(x, "grad", torch.autograd.grad(y, x)[0]),
    ],
)
def test_a_backward_function_is_on_the_device(x, differentiate):
    x.requires_grad_()
    differentiate(Checked.apply(x).sum(), x)
    assert x.grad.tolist() == [2.0] * 100


def test_hooks_and_checkpoints_are_on_the_device(x):
    seen = []

    def layer(x):
        seen.append(x.is_cuda)
        return (x * torch.ones(x.shape, device="cuda")).sin()

    x.requires_grad_()
    y = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
    y.register_hook(lambda gradient: seen.append(gradient.is_cuda))
    y.sum().backward()
    assert seen == [True] * 3


def test_a_float_argument_is_a_float32_that_widens(program):
    blocks = program("operators")
    x = torch.full((64,), 3.0, device="cuda", dtype=torch.float16)
    out = torch.empty(64, device="cuda")
    blocks.module.add_kernel[(1,)](x, out, 2.0**-14)
    assert out[0].item() == 3 + 2.0**-14

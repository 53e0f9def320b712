"""A class given to torch.compile stays the class that it is."""

from __future__ import annotations

import torch

from kernelband_worker.cases.watch import Watched, watching


def test_a_class_under_torch_compile_keeps_its_methods() -> None:
    watched = Watched()
    with watching(watched):

        @torch.compile
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, gradient):
                return 2 * gradient

        x = torch.ones(3, requires_grad=True)
        Double.apply(x).sum().backward()
    assert watched.compiled
    assert torch.equal(x.grad, torch.full((3,), 2.0))


def test_the_calls_of_a_compiled_module_class_are_the_region() -> None:
    watched, depth = Watched(), []
    with watching(watched):

        @torch.compile(dynamic=True)
        class Layer(torch.nn.Module):
            def forward(self, x):
                depth.append(watched.compiling)
                return x + 1

        assert torch.equal(Layer()(torch.zeros(2)), torch.ones(2))
    assert depth == [1]
    assert watched.compiling == 0

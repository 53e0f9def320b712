"""attorch's kernels at sizes of everyday networks. Inputs only: each function calls the project's modules as its users do."""

import attorch
import torch

FAST = torch.cuda.is_available()
DEVICE = "cuda"
ROWS, COLUMNS, CLASSES = (8192, 4096, 1000) if FAST else (16, 256, 100)
IMAGES, CHANNELS, SIDE = (32, 128, 56) if FAST else (2, 8, 8)


def values(*shape, dtype=torch.float32, grad=False):
    return torch.randn(shape, device=DEVICE, dtype=dtype, requires_grad=grad)


def forward(module, *inputs):
    with torch.no_grad():
        return module.to(DEVICE)(*inputs)


def both_ways(module, x, *more):
    out = module.to(DEVICE)(x.requires_grad_(), *more)
    out.backward(torch.randn_like(out))
    return [out.detach(), x.grad, *(p.grad for p in module.parameters() if p.grad is not None)]


def rows():
    return values(ROWS, COLUMNS)


def images():
    return values(IMAGES, CHANNELS, SIDE, SIDE)


def classes():
    return torch.randint(CLASSES, (ROWS,), device=DEVICE)


def activation():
    return forward(attorch.GELU(), rows())


def activation_backward():
    return both_ways(attorch.SiLU(), rows())


def gate():
    return forward(attorch.GLU(), rows())


def gate_backward():
    return both_ways(attorch.GLU(), rows())


def layer_norm():
    return forward(attorch.LayerNorm(COLUMNS), rows())


def layer_norm_backward():
    return both_ways(attorch.LayerNorm(COLUMNS), rows())


def rms_norm():
    return forward(attorch.RMSNorm(COLUMNS), rows())


def rms_norm_backward():
    return both_ways(attorch.RMSNorm(COLUMNS), rows())


def batch_norm():
    return both_ways(attorch.BatchNorm2d(CHANNELS), images())


def softmax():
    return forward(attorch.Softmax(dim=-1), rows())


def softmax_backward():
    return both_ways(attorch.LogSoftmax(dim=-1), rows())


def cross_entropy():
    return both_ways(attorch.CrossEntropyLoss(), values(ROWS, CLASSES), classes())


def likelihood():
    return both_ways(attorch.NLLLoss(), values(ROWS, CLASSES).log_softmax(-1), classes())


def squared_error():
    return both_ways(attorch.MSELoss(), rows(), rows())


def linear():
    return forward(attorch.Linear(COLUMNS, COLUMNS // 2), values(ROWS // 4, COLUMNS))


def convolution():
    return forward(attorch.Conv2d(CHANNELS, CHANNELS, 3, padding=1), images())

"""Liger-Kernel's kernels at sizes of a 7B model in training. Inputs only: each function calls the project as its users do."""

import torch
from liger_kernel import ops
from liger_kernel.ops.llama4_rope import LigerLlama4RopeFunction

FAST = torch.cuda.is_available()
DEVICE = "cuda"
TOKENS, HIDDEN, INNER, VOCABULARY = (8192, 4096, 11008, 32000) if FAST else (16, 256, 384, 512)
HEADS, KEY_HEADS, HEAD, BATCH = (32, 8, 128, 4) if FAST else (4, 2, 16, 2)
SEQUENCE = TOKENS // BATCH


def values(*shape, dtype=torch.bfloat16, grad=False):
    return torch.randn(shape, device=DEVICE, dtype=dtype, requires_grad=grad)


def both_ways(function, *inputs):
    """The result and the gradients of what wants one."""
    out = function(*inputs)
    out = out[0] if isinstance(out, tuple) else out
    out.backward(torch.randn_like(out))
    return [out.detach(), *(x.grad for x in inputs if isinstance(x, torch.Tensor) and x.grad is not None)]


def tokens(grad=False, width=HIDDEN):
    return values(TOKENS, width, grad=grad)


def logits(grad=False, dtype=torch.bfloat16):
    return values(TOKENS // 2, VOCABULARY, dtype=dtype, grad=grad)


def rms_norm():
    return ops.LigerRMSNormFunction.apply(tokens(), values(HIDDEN), 1e-6, 0.0, "llama", False)


def rms_norm_backward():
    return both_ways(ops.LigerRMSNormFunction.apply, tokens(True), values(HIDDEN, grad=True), 1e-6, 0.0, "llama", False)


def fused_add_rms_norm():
    return ops.LigerFusedAddRMSNormFunction.apply(tokens(), tokens(), values(HIDDEN), 1e-6, 0.0, "llama", False)


def modulated_rms_norm():
    scale, shift = values(BATCH, 1, HIDDEN), values(BATCH, 1, HIDDEN)
    return ops.LigerModulatedRMSNormFunction.apply(values(BATCH, SEQUENCE, HIDDEN), values(HIDDEN), scale, shift, 1e-6, 0.0, "llama", False)


def layer_norm():
    return ops.LigerLayerNormFunction.apply(tokens(), values(HIDDEN), values(HIDDEN), 1e-6)


def layer_norm_backward():
    return both_ways(ops.LigerLayerNormFunction.apply, tokens(True), values(HIDDEN, grad=True), values(HIDDEN, grad=True), 1e-6)


def group_norm():
    channels, places = (256, 64 * 64) if FAST else (32, 8 * 8)
    image = values(16 if FAST else 2, channels, places, dtype=torch.float32)
    weights = values(channels, dtype=torch.float32), values(channels, dtype=torch.float32)
    return ops.LigerGroupNormFunction.apply(image, *weights, channels, 32 if FAST else 4, 1e-5)


def poly_norm():
    return ops.LigerPolyNormFunction.apply(tokens(), values(3), values(), 1e-6, False)


def poly_norm_backward():
    return both_ways(ops.LigerPolyNormFunction.apply, tokens(True), values(3, grad=True), values(grad=True), 1e-6, False)


def dyt():
    return ops.LigerDyTFunction.apply(tokens(), values(1), values(HIDDEN), values(HIDDEN))


def swiglu():
    return ops.LigerSiLUMulFunction.apply(tokens(width=INNER), tokens(width=INNER))


def swiglu_backward():
    return both_ways(ops.LigerSiLUMulFunction.apply, tokens(True, INNER), tokens(True, INNER))


def geglu():
    return ops.LigerGELUMulFunction.apply(tokens(width=INNER), tokens(width=INNER))


def geglu_backward():
    return both_ways(ops.LigerGELUMulFunction.apply, tokens(True, INNER), tokens(True, INNER))


def relu_squared():
    return ops.LigerReLUSquaredFunction.apply(tokens(width=INNER))


def softmax():
    return ops.LigerSoftmaxFunction.apply(tokens())


def sparsemax():
    return ops.LigerSparsemaxFunction.apply(tokens(), -1)


def projected():
    """Queries and keys as a model has them: its projections keep the heads of a token together, and are looked at from the other side."""
    return tuple(values(BATCH, SEQUENCE, heads, HEAD).transpose(1, 2) for heads in (HEADS, KEY_HEADS))


def rope():
    angles = values(1, SEQUENCE, HEAD, dtype=torch.float32)
    return ops.LigerRopeFunction.apply(*projected(), angles.cos(), angles.sin())


def rope_of_three():
    angles = values(3, BATCH, SEQUENCE, HEAD, dtype=torch.float32)
    sections = [HEAD // 8, HEAD * 3 // 16, HEAD * 3 // 16]
    return ops.LigerQwen2VLMRopeFunction.apply(*projected(), angles.cos(), angles.sin(), sections)


def complex_rope():
    angles = torch.polar(torch.ones(SEQUENCE, HEAD // 2, device=DEVICE), values(SEQUENCE, HEAD // 2, dtype=torch.float32))
    return LigerLlama4RopeFunction.apply(values(BATCH, SEQUENCE, HEADS, HEAD), values(BATCH, SEQUENCE, KEY_HEADS, HEAD), angles)


def cross_entropy():
    target = torch.randint(VOCABULARY, (TOKENS // 2,), device=DEVICE)
    return both_ways(ops.LigerCrossEntropyFunction.apply, logits(True), target, None)


def divergence():
    return ops.LigerKLDivLossFunction.apply(logits(dtype=torch.float32).log_softmax(-1), logits(dtype=torch.float32).softmax(-1))


def divergence_backward():
    p = logits(dtype=torch.float32).log_softmax(-1).requires_grad_()
    return both_ways(ops.LigerKLDivLossFunction.apply, p, logits(dtype=torch.float32).softmax(-1))


def two_divergences():
    p = logits(dtype=torch.float32).log_softmax(-1).requires_grad_()
    return ops.LigerJSDFunction.apply(p, logits(dtype=torch.float32).log_softmax(-1))


def total_variation():
    p = logits(dtype=torch.float32).softmax(-1).requires_grad_()
    return ops.LigerTVDLossFunction.apply(p, logits(dtype=torch.float32).softmax(-1))


def depth_attention():
    layers = values(8, TOKENS, HIDDEN)
    return ops.LigerAttnResFunction.apply(layers, values(HIDDEN), values(HIDDEN), 1e-6)

"""flash-linear-attention's kernels at sizes of a 1B model in training. Inputs only: each function calls the project as its users do."""

import torch
from fla.modules import activations, fused_cross_entropy, l2norm, layernorm, rotary
from fla.modules.conv.causal_conv1d import causal_conv1d
from fla.modules.fused_norm_gate import rms_norm_gated
from fla.modules.layernorm_gated import rmsnorm_fn
from fla.modules.token_shift import token_shift as shifted
from fla.ops.attn.parallel import parallel_attn
from fla.ops.based.parallel import parallel_based
from fla.ops.delta_rule import chunk_delta_rule
from fla.ops.gla import chunk_gla
from fla.ops.hgrn.chunk import chunk_hgrn
from fla.ops.hgrn.fused_recurrent import fused_recurrent_hgrn
from fla.ops.simple_gla import chunk_simple_gla
from fla.ops.utils import cumsum, pooling
from fla.ops.utils.logsumexp import logsumexp_fwd
from fla.ops.utils.matmul import matmul
from fla.ops.utils.softmax import softmax_fwd

FAST = torch.cuda.is_available()
DEVICE = "cuda"
BATCH, LENGTH, HEADS, HEAD = (4, 2048, 16, 128) if FAST else (1, 64, 2, 32)
HIDDEN, VOCABULARY = (2048, 32000) if FAST else (128, 512)


def values(*shape, dtype=torch.bfloat16):
    return torch.randn(shape, device=DEVICE, dtype=dtype)


def hidden():
    return values(BATCH, LENGTH, HIDDEN)


def heads():
    return values(BATCH, LENGTH, HEADS, HEAD)


def gates(*shape):
    return torch.nn.functional.logsigmoid(values(*shape, dtype=torch.float32))


def unit_length():
    return l2norm.l2norm(heads())


def rms_norm():
    return layernorm.rms_norm(hidden(), values(HIDDEN), None)


def gated_norm():
    return rms_norm_gated(heads(), heads(), values(HEAD), None)


def gated_norm_of_groups():
    return rmsnorm_fn(hidden(), values(HIDDEN), None, z=hidden(), group_size=HIDDEN // 4)


def rotation():
    angles = values(LENGTH, HEAD // 2)
    return rotary.rotary_embedding(heads(), angles.cos(), angles.sin())


def swish():
    return activations.swish(values(BATCH, LENGTH, 4 * HIDDEN))


def swiglu():
    return activations.swiglu(values(BATCH, LENGTH, 4 * HIDDEN), values(BATCH, LENGTH, 4 * HIDDEN))


def cross_entropy():
    target = torch.randint(VOCABULARY, (BATCH * LENGTH // 2,), device=DEVICE)
    return fused_cross_entropy.cross_entropy_loss(values(BATCH * LENGTH // 2, VOCABULARY, dtype=torch.float32), target)[0]


def token_shift():
    return shifted(hidden())


def short_convolution():
    return causal_conv1d(hidden(), values(HIDDEN, 4), activation="silu")[0]


def attention():
    return parallel_attn(heads(), heads(), heads())


def based():
    return parallel_based(values(BATCH, LENGTH, HEADS, 16), values(BATCH, LENGTH, HEADS, 16), values(BATCH, LENGTH, HEADS, HEAD))


def gated_linear():
    return chunk_gla(heads(), heads(), heads(), gates(BATCH, LENGTH, HEADS, HEAD))[0]


def simple_gated_linear():
    return chunk_simple_gla(heads(), heads(), heads(), gates(BATCH, LENGTH, HEADS))[0]


def delta_rule():
    keys = torch.nn.functional.normalize(heads().float(), dim=-1).bfloat16()
    return chunk_delta_rule(heads(), keys, heads(), values(BATCH, LENGTH, HEADS).sigmoid())[0]


def gated_recurrence():
    return chunk_hgrn(hidden(), gates(BATCH, LENGTH, HIDDEN).bfloat16())[0]


def step_by_step():
    return fused_recurrent_hgrn(hidden(), gates(BATCH, LENGTH, HIDDEN).bfloat16())[0]


def chunk_sums():
    return cumsum.chunk_local_cumsum(gates(BATCH, LENGTH, HEADS, HEAD), 64)


def sums():
    return cumsum.chunk_global_cumsum(gates(BATCH, LENGTH, HEADS))


def sums_of_vectors():
    return cumsum.chunk_global_cumsum(gates(BATCH, LENGTH, HEADS, HEAD))


def mean_pooling():
    return pooling.mean_pooling(heads(), 64)


def softmax():
    return softmax_fwd(values(BATCH, LENGTH, HEADS, HEAD))


def logsumexp():
    return logsumexp_fwd(values(BATCH * LENGTH, VOCABULARY // 4))


def product():
    return matmul(values(BATCH * LENGTH, HIDDEN), values(HIDDEN, HIDDEN))

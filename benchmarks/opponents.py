"""What torch offers for the examples: one callable per example, with the arguments of its host function. Runs in the user's Python.

``EAGER`` is what a person would call; where torch has it as one kernel, that is it. ``COMPILED`` is what torch.compile is given, when that
is another expression: plain operations that it can fuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everyone calls it

Call = Callable[..., Any]

#: By example: the qualified name of the host function whose calls are compared.
HOSTS: dict[str, str] = {
    "vector_add": "add",
    "fused_softmax": "softmax",
    "layer_norm": "layer_norm",
    "matmul": "matmul",
    "batched_matmul": "bmm",
    "column_sum": "column_sum",
    "cross_entropy": "cross_entropy",
    "flash_attention": "flash_attention",
    "gather": "Embedding.forward",
    "layer_norm_backward": "layer_norm_backward",
    "rms_norm": "rms_norm",
    "rope": "rope",
    "row_quantize": "quantize_rowwise",
    "scan": "cumsum",
    "swiglu": "silu_and_mul",
}


def _layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def _cross_entropy(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    return F.cross_entropy(logits, labels, reduction="none", ignore_index=ignore_index)


def _cross_entropy_float(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    return F.cross_entropy(logits.float(), labels, reduction="none", ignore_index=ignore_index)


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def _embedding(module: Any, ids: torch.Tensor) -> torch.Tensor:
    return F.embedding(ids, module.weight)


def _layer_norm_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    shape = (x.shape[0], 1)
    return torch.ops.aten.native_layer_norm_backward(
        dy, x, [x.shape[1]], mean.view(shape), rstd.view(shape), weight, weight, [True, True, True]
    )


def _rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def _rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    x1, x2 = x.float().chunk(2, dim=-1)
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


def _quantize(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wide = x.float()
    scale = wide.abs().amax(dim=1).clamp_min(1e-10) / 127.0
    return torch.round(wide / scale[:, None]).to(torch.int8), scale


def _swiglu(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


EAGER: dict[str, Call] = {
    "vector_add": torch.add,
    "fused_softmax": lambda x: torch.softmax(x, dim=1),
    "layer_norm": _layer_norm,
    "matmul": torch.matmul,
    "batched_matmul": torch.bmm,
    "column_sum": lambda x: x.sum(dim=0, dtype=torch.float32),
    "cross_entropy": _cross_entropy,
    "flash_attention": _attention,
    "gather": _embedding,
    "layer_norm_backward": _layer_norm_backward,
    "rms_norm": _rms_norm,
    "rope": _rope,
    "row_quantize": _quantize,
    "scan": lambda x: torch.cumsum(x, dim=1),
    "swiglu": _swiglu,
}
COMPILED: dict[str, Call] = {**EAGER, "cross_entropy": _cross_entropy_float}

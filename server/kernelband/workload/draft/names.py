"""What names usually stand for: sizes that keep a GPU busy, and numbers that do no harm. All of it is guessed."""

from __future__ import annotations

import re
from typing import Literal

ROWS, COLUMNS, HEADS, LENGTH, WIDTH, BATCH, VOCABULARY = 4096, 4096, 16, 2048, 64, 4, 32768
FLAT = 1 << 24
#: By rank, of dimensions without a name: names, sizes.
UNNAMED: dict[int, tuple[tuple[str, int], ...]] = {
    1: (("n", FLAT),),
    2: (("rows", ROWS), ("cols", COLUMNS)),
    3: (("batch", BATCH), ("length", LENGTH), ("width", 1024)),
    4: (("batch", BATCH), ("heads", HEADS), ("length", LENGTH), ("width", WIDTH)),
}
IMAGE = (8, 128, 64, 64)  # of batch, channels, height, width
_SIZES: tuple[tuple[str, int], ...] = (
    (r"(n_?|num_?)?(kv_?heads?|heads?_?(kv|k)|hkv|h_?kv|hk|kv_head_num)", 4),
    (r"(n_?|num_?)?(q_?heads?|heads?_?q|hq|h_?q|n_?h|heads?|nheads?|h|head_num)", HEADS),
    (r"(head_?(dim|size)(_?[qkvo])?|dim_?head|d_?head|headdim|d_?[kvq]|dk|dv|lq|lk|lv|block_?dmodel|dhead|head)", WIDTH),
    (r"(vocab(_?size)?|n?_?vocab|v|(n_?|num_?)?(class(es)?|embeddings?))", VOCABULARY),
    (r"(b|bs|bz|z|nb|batch(_?size)?|bsz|n_?batch|num_?batch(es)?)", BATCH),
    (r"(n_?ctx\w*|t|l|seq(_?len(gth)?)?(_?[qkv])?|s|seqlen(_?[qkv])?|len(gth)?|[qk]_?len|max_?seq_?len|max_?len|tokens_per_batch)", LENGTH),
    (r"(groups?|g|n_?groups?|num_?groups?)", 32),
    (r"(n_?|num_?)(blocks?|pages?)", 1024),
    (r"(n_?|num_?)slots?", 8192),
    (r"(experts?|e|n_?experts?|num_?experts?)", 8),
    (r"(bt|m|k|rows?|n_?rows?|num_?rows?|(n_?|num_?)?tokens?|cols?|n_?cols?|n_?columns|hidden(_?(size|dim))?|c|embed(ding)?_?dim)", ROWS),
    (r"(d_?model|dim|(\w*_)?features?|normalized_?shape|intermediate_?size|d|hd|width|n_?embd|n_?hidden)", ROWS),
    (r"(n_?elements|num_?elements|numel|size|total)", FLAT),
)
_SCALARS: tuple[tuple[str, str], ...] = (
    (r"eps(ilon)?|\w*_eps", "1e-5"),
    (r"p|prob|rate|p_?drop(out)?|drop(out)?(_?(p|rate|prob))?", "0.1"),
    (r"\w*seed|\w*offset", "0"),
    (r"ignore_?(index|idx)", "-100"),
    (r"(sm|softmax|attn)?_?scal(e|ing)", "0.125"),
    (r"label_?smoothing|lse_square_scale|softcap|logit_softcap|z_loss\w*", "0.0"),
    (r"alpha|\w*_?scale|gamma|temperature|offset_?value", "1.0"),
    (r"beta", "0.0"),
    (r"momentum|beta_?1", "0.9"),
    (r"beta_?2", "0.999"),
    (r"lr|learning_rate", "1e-3"),
    (r"weight_decay|wd", "0.01"),
    (r"negative_slope|slope", "0.01"),
    (r"step|layer_?idx|layer_?id|axis", "1"),
    (r"dim", "-1"),
    (r"num_?warps", "4"),
    (r"num_?stages", "3"),
    (r"top_?k|n_?iter\w*|num_?iter\w*|window_?size|kernel_?size|stride|factor", "8"),
    (r"(q_)?group_?size|block_?size\w*|chunk_?size|block\w*|\w*_block", "128"),
    (r"n_?bits|bits", "8"),
    (r"reduction", '"mean"'),
    (r"activation|act|mode", '""'),
    (r"device", '"cuda"'),
)
_KINDS = {
    "flag": r"(is_|has_|use_|with_|return_|inplace|in_place|causal|training|train|transpose|interleaved|normalize|bias)\w*",
    "vector": r"\w*(weight|bias|gamma|beta|scale|shift|ln_w|norm_w)s?",  # one number for each column
    "ends": r"\w*(cu_?seq_?lens?|indptr|seq_?offsets|cu_lens)\w*",  # places at which one sequence ends and the next one begins
    "places": r"\w*(labels?|targets?|idx|index|indices|ids|positions?|block_tables?|slots?|slot_mapping|cu_seqlens\w*|seq_?lens\w*)",
}


def size_of_name(names: list[str], *, image: bool = False) -> int | None:
    """The size of the first name that says one."""
    for name in names:
        lower = name.lower().strip("_")
        if image and lower in ("n", "b", "c", "h", "w", "batch", "channels", "height", "width", "batch_size"):
            return IMAGE["nchw".index("n" if lower[0] == "b" else lower[0])]
        for pattern, size in _SIZES:
            if re.fullmatch(pattern, lower):
                return size
    return None


def number_of_name(name: str) -> str | None:
    """What a number or word of that name may be, as it is written."""
    lower = name.lower().strip("_")
    return next((value for pattern, value in _SCALARS if re.fullmatch(pattern, lower)), None)


def sounds_like(kind: Literal["flag", "vector", "ends", "places"], name: str) -> bool:
    """Whether a parameter of that name usually is one."""
    return re.fullmatch(_KINDS[kind], name, re.IGNORECASE) is not None


def is_image(names: list[str]) -> bool:
    """Whether the dimensions are those of pictures."""
    lower = {n.lower().strip("_") for n in names}
    return bool(lower & {"c", "channels"}) and bool(lower & {"w", "width"})

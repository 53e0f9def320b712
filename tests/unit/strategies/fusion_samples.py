"""The kernels of ``fusion_texts`` with facts that a capture of them would give, the moves that must fire, and examples to fire them on."""

from __future__ import annotations

import attrs
from attrs import frozen

from kernelband.strategies import strategy
from tests.unit.strategies.fusion_texts import (
    COLUMN_SUMS,
    COPIED,
    CROSS_ENTROPY,
    LAYER_NORM,
    PRODUCT,
    RMS_NORM,
    ROW_STATS,
    SCALED_PRODUCTS,
    ZERO_ROWS,
    ZEROS,
)
from tests.unit.strategies.samples import EXAMPLES as EXAMPLE_FILES
from tests.unit.strategies.samples import facts, launch, program_of


@frozen
class Sample:
    """``moves`` that must fire on it; ``broken``: a replacement that makes it wrong, to see that the test notices."""

    text: str
    moves: tuple[str, ...]
    broken: tuple[str, str]
    columns: int = 4096
    block: int = 256
    dtype: str = "float32"


def row_facts(program, *, columns=4096, block=256, dtype="float32", **more):
    """A launch of a program for each of 512 rows; ``columns`` stands for every size and stride of a row."""
    names = [p.name for p in program.kernel.parameters]
    pointers = [n for n in names if n.endswith("_ptr") or n in ("X", "Y", "W", "B", "DW", "DB", "DY")]
    blocks = [p.name for p in program.kernel.parameters if p.constexpr]
    scalars = {n: columns for n in names if n not in pointers and n not in blocks and n != "eps"}
    tensors = {n: ([columns] if n in ("sum_ptr", "mean_ptr") else [512, columns], dtype) for n in pointers}
    programs = columns // block if "M" in names else 512
    found = facts(launch(program, [programs, 1, 1], dict.fromkeys(blocks, block), scalars, tensors), **more)
    transposed = {"name": "x", "shape": [columns, columns // 2], "stride": [1, columns], "dtype": dtype}
    return attrs.evolve(found, cases=tuple({**c, "tensors": [transposed]} for c in found.cases))


SAMPLES = {
    "rms_norm": Sample(RMS_NORM, ("accumulate_late", "rsqrt"), ("(0, n_cols, BLOCK)", "(0, n_cols - 1, BLOCK * 2)")),
    "layer_norm": Sample(LAYER_NORM, ("one_pass_moments", "rsqrt", "accumulate_late"), ("1.0 /", "1.001 /")),
    "cross_entropy": Sample(CROSS_ENTROPY, ("online_softmax", "accumulate_late", "exp2"), ("m + tl.log", "m + 0.001 + tl.log")),
    "column_sums": Sample(COLUMN_SUMS, ("split_reduction", "accumulate_late"), ("acc += x", "acc += x * 1.01"), 1024, 16),
    "product": Sample(PRODUCT, ("split_k",), ("acc += tl.dot(a, b)", "acc += tl.dot(a, b) * 1.1"), 512, 32, "float16"),
    "scaled_products": Sample(SCALED_PRODUCTS, ("split_k",), ("acc * alpha", "acc * alpha * 1.1"), 512, 32, "float16"),
    "zeros": Sample(ZEROS, ("zeros_to_empty",), ("* 2.0", "* 2.1")),
    "zero_rows": Sample(ZERO_ROWS, ("zeros_to_empty",), ("/ 3.0", "/ 3.1")),
    "copied": Sample(COPIED, ("contiguous_copy",), ("-x, mask", "-x * 1.01, mask")),
    "row_stats": Sample(ROW_STATS, ("merged_passes", "accumulate_late"), ("127.0", "127.1")),
}


def sample(name, tmp_path):
    return program_of(SAMPLES[name].text, tmp_path, f"{name}.py")


def sample_facts(name, program, **more):
    chosen = SAMPLES[name]
    return row_facts(program, columns=chosen.columns, block=chosen.block, dtype=chosen.dtype, **more)


def _matrices(dtype, shape, *names):
    return dict.fromkeys(names, (shape, dtype))


#: Examples with a fusion move, by kernel: the file; grid, constants, scalars, tensors of a launch of its bench; the moves that must fire.
EXAMPLES = {
    "column_sum_kernel": (
        "column_sum",
        [64, 1, 1],
        {"BLOCK_M": 32, "BLOCK_N": 64},
        {"M": 8192, "N": 4096, "stride_m": 4096},
        {**_matrices("float16", [8192, 4096], "x_ptr"), **_matrices("float32", [4096], "out_ptr")},
        {"split_reduction"},
    ),
    "layer_norm_bwd_dwdb_kernel": (
        "layer_norm_backward",
        [32, 1, 1],
        {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 128},
        {"M": 4096, "N": 4096, "stride": 4096},
        {
            **_matrices("float16", [4096, 4096], "X", "DY"),
            **_matrices("float16", [4096], "DW", "DB"),
            **_matrices("float32", [4096], "Mean", "Rstd"),
        },
        {"split_reduction"},
    ),
    "cross_entropy_kernel": (
        "cross_entropy",
        [4096, 1, 1],
        {"BLOCK_SIZE": 4096},
        {"n_cols": 32000, "logits_row_stride": 32000, "ignore_index": -100},
        {
            **_matrices("bfloat16", [4096, 32000], "logits_ptr"),
            **_matrices("int64", [4096], "labels_ptr"),
            **_matrices("float32", [4096], "loss_ptr"),
        },
        {"online_softmax", "accumulate_late", "exp2", "one_block"},
    ),
    "_layer_norm_fwd_kernel": (
        "layer_norm",
        [4096, 1, 1],
        {"BLOCK_SIZE": 1024},
        {"N": 4096, "stride": 4096},
        {**_matrices("float16", [4096, 4096], "X", "Y"), **_matrices("float16", [4096], "W", "B")},
        {"one_pass_moments", "rsqrt", "one_block"},
    ),
    "matmul_kernel": (
        "matmul",
        [32, 1, 1],
        {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32},
        {"M": 256, "N": 512, "K": 16384},
        {"a_ptr": ([256, 16384], "float16"), "b_ptr": ([16384, 512], "float16"), "c_ptr": ([256, 512], "float16")},
        {"split_k"},
    ),
    "flash_attention_kernel": ("flash_attention", [64, 16, 1], {"BLOCK_M": 64, "BLOCK_N": 64, "HEAD_DIM": 64}, {}, {}, {"exp2"}),
}


def example_variants(kernel, tmp_path, device):
    """(what, text) of the original and of the first proposal of each fusion move; ``results()`` runs the example's own test.

    The interpreter knows no bfloat16, so it gets float16.
    """
    name, grid, constants, scalars, tensors, moves = EXAMPLES[kernel]
    text = (EXAMPLE_FILES / f"{name}.py").read_text()
    program = program_of(text, tmp_path, f"{name}.py", kernel)
    first = {}
    for proposal in strategy("fusion").propose(program, facts(launch(program, grid, constants, scalars, tensors))):
        first.setdefault((proposal.move, proposal.parameters.get("sum")), proposal)
    assert moves <= {move for move, _ in first}
    path = program.kernel.place.path
    found = [("original", text), *((p.key, p.patch.apply(program.texts)[path]) for p in first.values())]
    if device == "cpu":
        found = [(key, t.replace('"cuda"', '"cpu"').replace("torch.bfloat16", "torch.float16")) for key, t in found]
    return [(key, f"{t}\n\ndef results():\n    test_{name}()\n    return []\n") for key, t in found]

"""What a person would do first: the original with ``@triton.autotune`` over the usual warps × stages × blocks list.

Only what the example leaves free is tuned: blocks that are literals in the host function, not those that the shape decides. The text is
made on the syntax tree, since nobody has to read it: the decorator is added, tuned names leave the launch, and a grid that was computed
from them becomes a function of ``META``.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence

from attrs import field, frozen

MOST = 20  # configurations, to be compared with 20 trials

#: Prepended to the tuned module: past the deadline a configuration counts as not tried. The race sets the deadline before each case.
_BENCH = """
import time as _kb_time
_kb_deadline = [float("inf")]
_kb_tried = [0]


def _kb_bench(call, quantiles):
    if _kb_time.monotonic() > _kb_deadline[0]:
        return [float("inf")] * len(quantiles)
    _kb_tried[0] += 1
    import triton.testing
    return triton.testing.do_bench(call, quantiles=quantiles)

"""


@frozen
class Plan:
    """How one kernel is tuned. ``first``: what a person would list first, as values of the ``blocks`` in order, warps, stages.

    ``key``: arguments whose change means tuning again. The rest of the list is the product of what is usual; blocks vary fastest, so that
    the beginning of the list has all of them.
    """

    kernel: str
    key: tuple[str, ...]
    blocks: Mapping[str, Sequence[int]] = field(factory=dict[str, Sequence[int]])
    warps: Sequence[int] = (2, 4, 8)
    stages: Sequence[int] = (2, 3, 4)
    first: tuple[tuple[int, ...], ...] = ()
    most_elements: int = 1 << 16  # of all blocks multiplied: nobody lists what surely spills

    def configurations(self) -> list[tuple[dict[str, int], int, int]]:
        """Blocks, warps and stages, in order, each once."""
        names = list(self.blocks)
        usual = ((*sizes, warps, stages) for stages, warps, *sizes in itertools.product(self.stages, self.warps, *self.blocks.values()))
        out: list[tuple[dict[str, int], int, int]] = []
        for values in dict.fromkeys((*self.first, *usual)):
            sizes = dict(zip(names, values[:-2], strict=True))
            elements = 1
            for size in sizes.values():
                elements *= size
            if elements <= self.most_elements or values in self.first:
                out.append((sizes, values[-2], values[-1]))
        return out


#: The official matrix multiplication tutorial's list for CUDA, fp16.
_TUTORIAL = (
    (128, 256, 64, 8, 3),
    (64, 256, 32, 4, 4),
    (128, 128, 32, 4, 4),
    (128, 64, 32, 4, 4),
    (64, 128, 32, 4, 4),
    (128, 32, 32, 4, 4),
    (64, 32, 32, 2, 5),
    (32, 64, 32, 2, 5),
    (128, 128, 64, 8, 3),
    (128, 128, 64, 4, 3),
    (128, 256, 64, 8, 4),
    (256, 128, 64, 8, 3),
    (256, 128, 64, 8, 4),
    (64, 128, 64, 4, 4),
    (128, 64, 64, 4, 4),
    (64, 64, 64, 4, 4),
    (128, 128, 32, 8, 3),
    (64, 64, 32, 4, 4),
    (256, 64, 32, 4, 4),
    (64, 256, 64, 8, 3),
)
_ROW_WARPS = (1, 2, 4, 8, 16, 32)
_ONE_STAGE = (1,)  # no loop to pipeline

PLANS: Mapping[str, tuple[Plan, ...]] = {
    "vector_add": (Plan("add_kernel", ("n_elements",), {"BLOCK_SIZE": (1024, 512, 2048, 256, 4096, 8192)}, (4, 8, 2, 16), _ONE_STAGE),),
    "fused_softmax": (Plan("softmax_kernel", ("n_cols",), warps=_ROW_WARPS, stages=_ONE_STAGE),),
    "layer_norm": (Plan("_layer_norm_fwd_kernel", ("N",), {"BLOCK_SIZE": (1024, 2048, 512, 4096, 8192)}, (4, 8, 16), (2, 3)),),
    "rms_norm": (Plan("rms_norm_kernel", ("n_cols",), warps=_ROW_WARPS, stages=_ONE_STAGE),),
    "row_quantize": (Plan("quantize_rowwise_kernel", ("n_cols",), warps=_ROW_WARPS, stages=_ONE_STAGE),),
    "matmul": (
        Plan(
            "matmul_kernel",
            ("M", "N", "K"),
            {"BLOCK_SIZE_M": (64, 128), "BLOCK_SIZE_N": (64, 128, 256), "BLOCK_SIZE_K": (32, 64)},
            (4, 8),
            (3, 4),
            _TUTORIAL,
            1 << 21,
        ),
    ),
    "batched_matmul": (
        Plan(
            "bmm_kernel",
            ("M", "N", "K"),
            {"BLOCK_M": (64, 128), "BLOCK_N": (64, 128, 256), "BLOCK_K": (32, 64)},
            (4, 8),
            (3, 4),
            _TUTORIAL,
            1 << 21,
        ),
    ),
    "flash_attention": (
        Plan(
            "flash_attention_kernel",
            ("N_CTX", "HEAD_DIM", "IS_CAUSAL"),
            {"BLOCK_M": (64, 128), "BLOCK_N": (32, 64, 128)},
            (4, 8),
            (2, 3, 4),
        ),
    ),
    "cross_entropy": (Plan("cross_entropy_kernel", ("n_cols",), {"BLOCK_SIZE": (4096, 2048, 8192, 16384, 1024)}, (4, 8, 16, 32), (2, 3)),),
    "swiglu": (Plan("silu_and_mul_kernel", ("d",), {"BLOCK_SIZE": (512, 1024, 2048, 256, 4096)}, (4, 8, 2, 16), _ONE_STAGE),),
    "rope": (Plan("rope_kernel", ("seq_len",), warps=(1, 2, 4, 8), stages=_ONE_STAGE),),
    "gather": (Plan("embedding_kernel", ("embedding_dim",), {"BLOCK_SIZE": (256, 512, 1024, 2048, 4096, 128)}, (4, 2, 8, 1), (2, 3)),),
    "column_sum": (
        Plan("column_sum_kernel", ("M", "N"), {"BLOCK_M": (32, 64, 128), "BLOCK_N": (64, 32, 128)}, (4, 8), (2, 3), (), 1 << 14),
    ),
    "scan": (Plan("cumsum_kernel", ("n_cols",), {"BLOCK": (1024, 2048, 4096, 512, 8192)}, (4, 8, 2, 16), (2, 3)),),
    "layer_norm_backward": (
        Plan("layer_norm_bwd_dx_kernel", ("N",), warps=_ROW_WARPS, stages=_ONE_STAGE),
        Plan(
            "layer_norm_bwd_dwdb_kernel",
            ("M", "N"),
            {"BLOCK_SIZE_M": (32, 64, 128), "BLOCK_SIZE_N": (128, 64, 32)},
            (4, 8),
            (2, 3),
            (),
            1 << 14,
        ),
    ),
}


class UntunableError(Exception):
    """The text isn't as the plan expects it: one sentence."""


def autotuned(text: str, plans: Sequence[Plan], most: int | None = MOST) -> str:
    """The module with its kernels tuned over the first ``most`` configurations; None: the whole list.

    Raises:
        UntunableError: a kernel, its launch or a tuned name isn't there.
    """
    tree = ast.parse(text)
    for plan in plans:
        kernel = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == plan.kernel), None)
        if kernel is None:
            raise UntunableError(f"There is no kernel {plan.kernel}.")
        parameters = [a.arg for a in kernel.args.args]
        missing = [name for name in (*plan.blocks, *plan.key) if name not in parameters]
        if missing:
            raise UntunableError(f"{plan.kernel} has no parameter {missing[0]}.")
        kernel.decorator_list = [
            _decorator(plan, most),
            *(d for d in kernel.decorator_list if not ast.unparse(d).startswith("triton.autotune")),
        ]
        hosts = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n is not kernel]
        changed = sum(_launches(host, plan, parameters) for host in hosts)
        if not changed:
            raise UntunableError(f"{plan.kernel} is launched nowhere.")
    return _BENCH + ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _decorator(plan: Plan, most: int | None) -> ast.expr:
    lines = [f"triton.Config({sizes!r}, num_warps={warps}, num_stages={stages})" for sizes, warps, stages in plan.configurations()[:most]]
    text = f"triton.autotune(configs=[{', '.join(lines)}], key={list(plan.key)!r}, do_bench=_kb_bench)"
    return ast.parse(text, mode="eval").body


def _launches(host: ast.FunctionDef, plan: Plan, parameters: Sequence[str]) -> int:
    """Changes the launches of the kernel in one host function; how many there were."""
    found = [
        n
        for n in ast.walk(host)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Subscript)
        and isinstance(n.func.value, ast.Name)
        and n.func.value.id == plan.kernel
    ]
    for call in found:
        _name_from(call, plan, parameters)
        gone = {*plan.blocks, "num_warps", "num_stages"}
        passed = {k.arg: k.value for k in call.keywords if k.arg in plan.blocks}
        call.keywords = [k for k in call.keywords if k.arg not in gone]
        assert isinstance(call.func, ast.Subscript)
        call.func.slice = _grid(call.func.slice, {name: ast.unparse(value) for name, value in passed.items()}, host)
    return len(found)


def _name_from(call: ast.Call, plan: Plan, parameters: Sequence[str]) -> None:
    """From the first tuned argument that is given by position on, arguments are given by name."""
    for position, value in enumerate(call.args):
        if isinstance(value, ast.Starred):
            return  # what follows can't be counted; tuned names come as keywords or from the tuner
        if parameters[position] in plan.blocks:
            named = [ast.keyword(arg=parameters[position + i], value=v) for i, v in enumerate(call.args[position:])]
            call.keywords = [*named, *call.keywords]
            del call.args[position:]
            return


def _grid(grid: ast.expr, passed: Mapping[str, str], host: ast.FunctionDef) -> ast.expr:
    """The grid as a function of META, when it depends on what is tuned."""
    assigned = {
        n.targets[0].id: n.value
        for n in ast.walk(host)
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
    }
    inlined = _Inline(assigned, {text: name for name, text in passed.items()})
    if isinstance(grid, ast.Name) and isinstance(assigned.get(grid.id), ast.Lambda):
        return grid
    if isinstance(grid, ast.Lambda):
        return grid
    body = inlined.visit(grid)
    if not inlined.tuned:
        return grid
    made = ast.parse("lambda META: None", mode="eval").body
    assert isinstance(made, ast.Lambda)
    made.body = body
    return made


class _Inline(ast.NodeTransformer):
    """Replaces tuned names by META's entries, through variables that were computed from them."""

    def __init__(self, assigned: Mapping[str, ast.expr], tuned_by_text: Mapping[str, str]) -> None:
        self.assigned, self.tuned_by_text, self.tuned = assigned, tuned_by_text, False

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.tuned_by_text:
            self.tuned = True
            return ast.parse(f"META[{self.tuned_by_text[node.id]!r}]", mode="eval").body
        value = self.assigned.get(node.id)
        if value is not None and self._depends(value, frozenset({node.id})):
            return self.visit(ast.parse(ast.unparse(value), mode="eval").body)
        return node

    def _depends(self, value: ast.expr, seen: frozenset[str]) -> bool:
        for node in ast.walk(value):
            if isinstance(node, ast.Name):
                if node.id in self.tuned_by_text:
                    return True
                further = self.assigned.get(node.id)
                if further is not None and node.id not in seen and self._depends(further, seen | {node.id}):
                    return True
        return False

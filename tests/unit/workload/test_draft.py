"""Entries that are drafted from the text of a program, over functions as people write them."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.errors import SourceError, UsageError, WorkloadError
from kernelband.source import Workspace, find_program
from kernelband.workload import choose_entry
from kernelband.workload.draft import Draft, draft_entry

FIXTURES = Path(__file__).parents[2] / "fixtures" / "drafts"
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
COPY = """
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

"""
ROWS = """
@triton.jit
def rows_kernel(x_ptr, w_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, x * tl.load(w_ptr + cols, mask=mask), mask=mask)

"""


def drafted(path: Path, kernel: str | None = None, answers: dict[str, str] | None = None, out: str | None = None) -> Draft:
    workspace = Workspace.for_file(str(path))
    return draft_entry(workspace, find_program(workspace, str(path), kernel), answers, out=out)


def of_text(folder: Path, text: str, kernel: str | None = None, **given: str) -> Draft:
    path = folder / "ops.py"
    path.write_text(HEAD + text)
    return drafted(path, kernel, given)


def code(draft: Draft) -> list[str]:
    """The lines of the function, without comments."""
    body = draft.text.partition(f"def {draft.entry}():\n")[2]
    return [line.partition("  # ")[0].strip() for line in body.splitlines() if line.strip()]


def commented(draft: Draft, start: str) -> str:
    """The comment of the line that begins so."""
    return next(line.strip() for line in draft.text.splitlines() if line.strip().startswith(start)).partition("  # ")[2]


LAUNCH = "    y = torch.empty_like(x)\n    copy_kernel[(1,)](x, y, x.numel(), BLOCK=64)\n"

#: (file, kernel): the lines of its entry.
WANTED: dict[tuple[str, str | None], str] = {
    ("vector_add", None): """
        n = 16777216
        dtype = torch.float32
        x = torch.randn(n, device="cuda", dtype=dtype)
        y = torch.randn(n, device="cuda", dtype=dtype)
        add(x, y)
    """,
    ("softmax", None): """
        n_rows, n_cols = 4096, 4096
        dtype = torch.float32
        x = torch.randn(n_rows, n_cols, device="cuda", dtype=dtype)
        softmax(x)
    """,
    ("layer_norm", None): """
        M, N = 4096, 4096
        dtype = torch.float16
        x = torch.randn(M, N, device="cuda", dtype=dtype)
        weight = torch.randn(N, device="cuda", dtype=dtype)
        bias = torch.randn(N, device="cuda", dtype=dtype)
        eps = 1e-5
        layer_norm(x, weight, bias, eps)
    """,
    ("matmul", None): """
        M, K, N = 4096, 4096, 4096
        a = torch.randn(M, K, device="cuda", dtype=torch.float16)
        b = torch.randn(K, N, device="cuda", dtype=torch.float16)
        matmul(a, b)
    """,
    ("attention", "_attn_fwd"): """
        B, H, N_CTX, Lq = 4, 16, 2048, 64
        dtype = torch.float16
        q = torch.randn(B, H, N_CTX, Lq, device="cuda", dtype=dtype)
        k = torch.randn(B, H, N_CTX, Lq, device="cuda", dtype=dtype)
        v = torch.randn(B, H, N_CTX, Lq, device="cuda", dtype=dtype)
        causal = True
        sm_scale = 0.125
        attention(q, k, v, causal, sm_scale)
    """,
    ("embedding", None): """
        n_ids, num_embeddings, embedding_dim = 4096, 16384, 4096
        dtype = torch.float32
        ids = torch.randint(0, num_embeddings, (n_ids,), device="cuda")
        weight = torch.randn(num_embeddings, embedding_dim, device="cuda", dtype=dtype)
        embedding(ids, weight)
    """,
    ("dropout", None): """
        n = 16777216
        dtype = torch.float32
        x = torch.randn(n, device="cuda", dtype=dtype)
        p = 0.1
        seed = 0
        seeded_dropout(x, p, seed)
    """,
    ("cross_entropy", None): """
        BT, V = 2048, 32768
        dtype = torch.float16
        _input = torch.randn(BT, V, device="cuda", dtype=dtype)
        target = torch.randint(0, V, (BT,), device="cuda")
        ignore_index = -100
        reduction = "mean"
        cross_entropy_forward(_input, target, ignore_index, reduction)
    """,
    ("liger_rms_norm", "_rms_norm_forward_kernel"): """
        n_rows, dim = 4096, 4096
        dtype = torch.float16
        X = torch.randn(n_rows, dim, device="cuda", dtype=dtype)
        W = torch.randn(dim, device="cuda", dtype=dtype)
        eps = 1e-5
        offset = 0
        rms_norm_forward(X, W, eps, offset)
    """,
    ("liger_rms_norm", "_rms_norm_backward_kernel"): """
        n_rows, dim = 4096, 4096
        dtype = torch.float16
        dY = torch.randn(n_rows, dim, device="cuda", dtype=dtype)
        X = torch.randn(n_rows, dim, device="cuda", dtype=dtype)
        W = torch.randn(dim, device="cuda", dtype=dtype)
        RSTD = torch.randn(n_rows, device="cuda", dtype=dtype)
        offset = 0
        BLOCK_SIZE = triton.next_power_of_2(dim)
        num_warps = 4
        rms_norm_backward(dY, X, W, RSTD, offset, BLOCK_SIZE, num_warps)
    """,
    ("rotary", None): """
        batch, seq_len, n_heads, head_dim = 4, 2048, 16, 64
        dtype = torch.float32
        q = torch.randn(batch, seq_len, n_heads, head_dim, device="cuda", dtype=dtype)
        k = torch.randn(batch, seq_len, n_heads, head_dim, device="cuda", dtype=dtype)
        cos = torch.randn(seq_len, head_dim // 2, device="cuda", dtype=dtype)
        sin = torch.randn(seq_len, head_dim // 2, device="cuda", dtype=dtype)
        apply_rotary(q, k, cos, sin)
    """,
    ("quantize", "quantize_kernel"): """
        rows, cols = 4096, 4096
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        quantize(x)
    """,
    ("quantize", "dequantize_kernel"): """
        rows, cols = 4096, 4096
        dtype = torch.float32
        q = torch.randint(-128, 128, (rows, cols), device="cuda", dtype=torch.int8)
        scales = torch.randn(rows, device="cuda", dtype=dtype)
        out = torch.empty(rows, cols, device="cuda", dtype=torch.float32)
        dequantize(q, scales, out)
    """,
    ("group_norm", None): """
        N, C, H, W = 8, 128, 64, 64
        dtype = torch.float16
        x = torch.randn(N, C, H, W, device="cuda", dtype=dtype)
        num_groups = 32
        weight = torch.randn(C, device="cuda", dtype=dtype)
        bias = torch.randn(C, device="cuda", dtype=dtype)
        group_norm(x, num_groups, weight, bias)
    """,
    ("swiglu_module", None): """
        in_features, rows = 4096, 4096
        dtype = torch.float32
        hidden_features = 4096
        x = torch.randn(rows, in_features, device="cuda", dtype=dtype)
        module = SwiGLU(in_features, hidden_features).to(device="cuda", dtype=dtype)
        module(x)
    """,
    ("scaled_rows", None): """
        M, N = 4096, 4096
        dtype = torch.float32
        x = torch.randn(M, N, device="cuda", dtype=dtype)
        w = torch.randn(N, device="cuda", dtype=dtype)
        scale_rows(x, w)
    """,
    ("paged_copy", None): """
        num_tokens, D, num_slots = 4096, 256, 8192
        dtype = torch.float32
        src = torch.randn(num_tokens, D, device="cuda", dtype=dtype)
        dst = torch.zeros(num_slots, D, device="cuda", dtype=dtype)
        mapping = torch.randperm(num_slots, device="cuda").to(torch.int32)[:num_tokens]
        copy_rows(src, dst, mapping)
    """,
    ("geglu", None): """
        M, N = 4096, 4096
        dtype = torch.float16
        x = torch.randn(M, N, device="cuda", dtype=dtype)
        gate = torch.randn(M, N, device="cuda", dtype=dtype)
        out = torch.empty(M, N, device="cuda", dtype=dtype)
        block = 128
        geglu(x, gate, out, block)
    """,
    ("bare_add", None): """
        n_elements = 16777216
        dtype = torch.float32
        x_ptr = torch.randn(n_elements, device="cuda", dtype=dtype)
        y_ptr = torch.randn(n_elements, device="cuda", dtype=dtype)
        out_ptr = torch.empty(n_elements, device="cuda", dtype=dtype)
        alpha = 1.0
        BLOCK_SIZE = 1024
        add_kernel[(triton.cdiv(n_elements, BLOCK_SIZE),)](x_ptr, y_ptr, out_ptr, n_elements, alpha, BLOCK_SIZE)
    """,
    ("bare_softmax", None): """
        rows, n_cols = 4096, 4096
        dtype = torch.float32
        output_ptr = torch.empty(rows, n_cols, device="cuda", dtype=dtype)
        input_ptr = torch.randn(rows, n_cols, device="cuda", dtype=dtype)
        weight_ptr = torch.randn(n_cols, device="cuda", dtype=dtype)
        input_row_stride = n_cols
        output_row_stride = n_cols
        BLOCK_SIZE = triton.next_power_of_2(n_cols)
        softmax_kernel[(rows,)](output_ptr, input_ptr, weight_ptr, input_row_stride, output_row_stride, n_cols, BLOCK_SIZE)
    """,
    ("bare_copy", None): """
        n = 16777216
        dtype = torch.float32
        x = torch.randn(n, device="cuda", dtype=dtype)
        y = torch.empty(n, device="cuda", dtype=dtype)
        copy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    """,
    ("flash_attention", None): """
        batch, seqlen_q, nheads, d, seqlen_k = 4, 2048, 16, 64, 2048
        q = torch.randn(batch, seqlen_q, nheads, d, device="cuda", dtype=torch.float16)
        k = torch.randn(batch, seqlen_k, nheads, d, device="cuda", dtype=torch.float16)
        v = torch.randn(batch, seqlen_k, nheads, d, device="cuda", dtype=torch.float16)
        flash_attn_func(q, k, v)
    """,
    ("attorch_softmax", None): """
        batch_dim, feat_dim = 4096, 4096
        dtype = torch.float16
        input = torch.randn(batch_dim, feat_dim, device="cuda", dtype=dtype)
        neg = False
        log = False
        SoftmaxAutoGrad.apply(input, neg, log)
    """,
    ("decode_attention", None): """
        head_num, Lk, n_kv_indices, n = 16, 64, 4096, 4096
        dtype = torch.float16
        q = torch.randn(n - 1, head_num, Lk, device="cuda", dtype=dtype)
        k_buffer = torch.randn(n - 1, head_num, Lk, device="cuda", dtype=dtype)
        v_buffer = torch.randn(n - 1, head_num, Lk, device="cuda", dtype=dtype)
        o = torch.empty(n - 1, head_num, Lk, device="cuda", dtype=dtype)
        kv_indptr = torch.linspace(0, n_kv_indices, n, device="cuda").to(torch.int32)
        kv_indices = torch.randint(0, n - 1, (n_kv_indices,), device="cuda")
        sm_scale = 0.125
        decode_attention_fwd(q, k_buffer, v_buffer, o, kv_indptr, kv_indices, sm_scale)
    """,
    ("block_int8", "per_token_group_quant_8bit"): """
        group_size, rows = 128, 4096
        dtype = torch.float16
        x = torch.randn(rows, group_size, device="cuda", dtype=dtype)
        per_token_group_quant_int8(x, group_size)
    """,
    ("block_int8", "_w8a8_block_int8_matmul"): """
        K, N, rows = 4096, 4096, 4096
        dtype = torch.float16
        A = torch.randn(rows, K, device="cuda", dtype=dtype)
        B = torch.randn(N, K, device="cuda", dtype=dtype)
        As = torch.randn(rows, triton.cdiv(K, 128), device="cuda", dtype=dtype)
        Bs = torch.randn(triton.cdiv(N, 128), triton.cdiv(K, 128), device="cuda", dtype=dtype)
        block_size = [128, 128]
        w8a8_block_int8_matmul(A, B, As, Bs, block_size)
    """,
    ("cache_rows", None): """
        num_tokens, num_heads, head_size, num_blocks, block_size = 4096, 16, 64, 512, 128
        dtype = torch.float32
        key = torch.randn(num_tokens, num_heads, head_size, device="cuda", dtype=dtype)
        value = torch.randn(num_tokens, num_heads, head_size, device="cuda", dtype=dtype)
        key_cache = torch.zeros(num_blocks, block_size, num_heads, head_size, device="cuda", dtype=dtype)
        value_cache = torch.zeros(num_blocks, block_size, num_heads, head_size, device="cuda", dtype=dtype)
        slot_mapping = torch.randperm(num_blocks, device="cuda")[:num_tokens]
        triton_reshape_and_cache_flash(key, value, key_cache, value_cache, slot_mapping)
    """,
    ("causal_conv", None): """
        batch, dim, seqlen, width = 4, 4096, 2048, 4
        dtype = torch.float32
        x = torch.randn(batch, dim, seqlen, device="cuda", dtype=dtype)
        weight = torch.randn(dim, width, device="cuda", dtype=dtype)
        bias = torch.randn(dim, device="cuda", dtype=dtype)
        causal_conv1d_fn(x, weight, bias)
    """,
    ("bias_dropout", None): """
        M, N = 4096, 4096
        dtype = torch.float32
        x = torch.randn(M, N, device="cuda", dtype=dtype)
        bias = torch.randn(N, device="cuda", dtype=dtype)
        residual = torch.randn(M, N, device="cuda", dtype=dtype)
        mask = torch.randint(0, 2, (M, N), device="cuda", dtype=torch.bool)
        prob = 0.1
        training = True
        bias_dropout_add(x, bias, residual, mask, prob, training)
    """,
    ("swiglu", None): """
        batch, seq_len, hd = 4, 2048, 4096
        dtype = torch.float16
        e = torch.randn(batch, seq_len, hd, device="cuda", dtype=dtype)
        g = torch.randn(batch, seq_len, hd, device="cuda", dtype=dtype)
        swiglu_fg_kernel(e, g)
    """,
}


@pytest.mark.parametrize(("name", "kernel"), WANTED, ids=[f"{n}-{k}" if k else n for n, k in WANTED])
def test_functions_as_people_write_them(name: str, kernel: str | None) -> None:
    draft = drafted(FIXTURES / f"{name}.py", kernel)
    assert code(draft) == textwrap.dedent(WANTED[name, kernel]).strip().splitlines()
    assert (draft.path, draft.appended) == (str(FIXTURES / f"bench_{name}.py"), False)
    require_complete(draft)


def test_every_kernel_of_the_folder_is_wanted() -> None:
    assert {name for name, _ in WANTED} == {p.stem for p in FIXTURES.glob("*.py")}


def require_complete(draft: Draft) -> None:
    """It is Python, a function without arguments that uses nothing that isn't there, and marks what it guesses."""
    tree = ast.parse(draft.text)
    (function,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == draft.entry)
    assert not function.args.args
    there = {a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    for statement in function.body:
        used = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        local = {n.target.id for n in ast.walk(statement) if isinstance(n, ast.comprehension) and isinstance(n.target, ast.Name)}
        local |= {a.arg for n in ast.walk(statement) if isinstance(n, ast.Lambda) for a in n.args.args}
        assert used - there - local <= {"range", "isinstance", "tuple"}, ast.unparse(statement)
        there |= bound
    lines = {name: line for line in draft.text.splitlines() if " = " in line for name in line.partition(" = ")[0].strip().split(", ")}
    assert all("  # guessed: " in lines[guess.name] for guess in draft.guesses), draft.text


# ------------------------------------------------------------ what says something


CASES: dict[str, tuple[str, str, str]] = {
    "an if that raises": ("if x.shape[1] != w.shape[0]:\n        raise ValueError('no')", "w = ", "torch.randn(cols"),
    "two shapes in one assert": ("assert x.ndim == 3 and w.shape == (x.size(1), x.size(2))", "w = ", "torch.randn(length, width"),
    "the last dimensions": (
        "*batch, T, C = x.shape\n    assert w.shape[-2:] == x.shape[-2:]\n    assert w.dim() == 2",
        "w = ",
        "torch.randn(T, C",
    ),
    "no more than": ("M, D = x.shape\n    assert D <= 1024", "M, D", "4096, 1024"),
    "a multiple": ("M, D = x.shape\n    assert D % 384 == 0", "M, D", "4096, 4224"),
    "one of several": ("M, D = x.shape\n    assert D in (32, 96)", "M, D", "4096, 96"),
    "twice as long": ("M, D = x.shape\n    assert w.shape == (2 * D,)", "w = ", "torch.randn(2 * D"),
    "a dtype": ("assert w.dtype == torch.bfloat16", "w = ", "dtype=torch.bfloat16)"),
    "the same dtype": ("assert x.dtype == torch.float16\n    assert w.dtype == x.dtype", "w = ", "dtype=torch.float16)"),
    "one of two dtypes": ("assert x.dtype in [torch.float32, torch.bfloat16]", "x = ", "dtype=torch.bfloat16)"),
    "whole numbers": ("assert w.dtype == torch.int32", "w = ", "dtype=torch.int32)"),
    "a transpose": ("M, K = x.shape\n    assert w.t().shape == (K, M)", "w = ", "torch.randn(M, K"),
    "how many there are": ("M, K = x.shape\n    assert w.numel() == K", "w = ", "torch.randn(K,"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_asserts_say(tmp_path: Path, case: str) -> None:
    said, line, wanted = CASES[case]
    draft = of_text(tmp_path, f"{COPY}def scale(x, w):\n    {said}\n{LAUNCH}")
    assert wanted in next(text for text in code(draft) if text.startswith(line)), draft.text
    require_complete(draft)


PARAMETERS: dict[str, tuple[str, str]] = {
    "flag: bool": ("flag = True", "either may be meant"),
    "mode: Literal['fast', 'exact']": ('mode = "fast"', "one of 'fast', 'exact'"),
    "alpha": ("alpha = 1.0", "by its name"),
    "out_dtype: torch.dtype": ("out_dtype = torch.float16", "by its name"),
    "where: torch.device": ('where = "cuda"', "by its name"),
    "mask: Optional[torch.Tensor]": ("mask = None", "it may be None"),
    "thing": ("thing = 1", "nothing says what thing is"),
    "count: int": ("count = 1", "nothing says how large it is"),
    "indices": ('indices = torch.randint(0, 2, (n,), device="cuda")', "that it is a tensor"),
}


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_what_nothing_says_is_guessed_and_marked(tmp_path: Path, parameter: str) -> None:
    draft = of_text(tmp_path, f"{COPY}def scale(x, {parameter}):\n{LAUNCH}")
    line, why = PARAMETERS[parameter]
    name = parameter.partition(":")[0]
    found = next(text for text in code(draft) if text.startswith(f"{name} ="))
    assert found.startswith(line[: line.find("(n") if "(n" in line else len(line)]), draft.text
    assert why in commented(draft, f"{name} =")
    assert next(g for g in draft.guesses if g.name == name).why.startswith(why)
    require_complete(draft)


def test_defaults_are_left_out_and_keywords_named(tmp_path: Path) -> None:
    draft = of_text(tmp_path, f"{COPY}def scale(x, eps=1e-5, out=None, *, alpha):\n{LAUNCH}")
    assert code(draft)[-1] == "scale(x, alpha=alpha)"
    assert not {"eps", "out"} & {g.name for g in draft.guesses}


def test_types_with_shapes(tmp_path: Path) -> None:
    head = 'def scale(x: Float[torch.Tensor, "batch seq d_model"], at: Int[torch.Tensor, "batch"]):\n'
    draft = of_text(tmp_path, COPY + head + LAUNCH)
    assert code(draft)[0] == "batch, seq, d_model = 4, 2048, 4096"
    assert 'at = torch.randint(0, d_model, (batch,), device="cuda")' in code(draft)


@pytest.mark.parametrize(
    "doc",
    [
        "x: input of shape (tokens, width)",
        "x (torch.Tensor): (tokens, width), contiguous",
        ":param x: shape [tokens, width]",
        "- `x`: [tokens, width]",
        "x : torch.Tensor\n        Rows of shape (tokens, width).",
        "x is (tokens, width)",
    ],
)
def test_docstrings(tmp_path: Path, doc: str) -> None:
    draft = of_text(tmp_path, f'{COPY}def scale(x):\n    """Scales.\n\n    {doc}\n    """\n{LAUNCH}')
    assert 'x = torch.randn(tokens, width, device="cuda", dtype=dtype)' in code(draft)
    assert commented(draft, "x =") == "its shape is as the docstring says"


def test_a_weight_is_as_long_as_the_mask_that_reads_it(tmp_path: Path) -> None:
    host = "def scale(x, w):\n    M, N = x.shape\n    y = torch.empty_like(x)\n    rows_kernel[(M,)](x, w, y, x.stride(0), N, BLOCK=4096)\n"
    draft = of_text(tmp_path, ROWS + host)
    assert 'w = torch.randn(N, device="cuda", dtype=dtype)' in code(draft)
    assert commented(draft, "w =") == "as the kernel indexes it"


ADDRESSES = """
@triton.jit
def at_kernel(x_ptr, y_ptr, at_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    {body}
"""
#: what the kernel does: what the lines of x, y and at begin with.
KERNELS: dict[str, tuple[str, list[str]]] = {
    "a length for each row": (
        "tl.store(y_ptr + row * n + cols, tl.load(x_ptr + row * n + cols), mask=cols < tl.load(at_ptr + row))",
        ["x = torch.randn(n_rows, N", "y = torch.empty(n_rows, N", "at = torch.randint(0, N, (n_rows,)"],
    ),
    "rows that are looked up": (
        "tl.store(y_ptr + row * n + cols, tl.load(x_ptr + tl.load(at_ptr + row) * n + cols, mask=cols < n), mask=cols < n)",
        ["x = torch.randn(", "y = torch.empty(n_rows, N", "at = torch.randint(0, "],
    ),
    "no row twice where it is stored": (
        "tl.store(y_ptr + tl.load(at_ptr + row) * n + cols, tl.load(x_ptr + row * n + cols, mask=cols < n), mask=cols < n)",
        ["x = torch.randn(n_rows, N", "y = torch.zeros(", "at = torch.randperm("],
    ),
    "any row where it is added": (
        "tl.atomic_add(y_ptr + tl.load(at_ptr + row) * n + cols, tl.load(x_ptr + row * n + cols, mask=cols < n), mask=cols < n)",
        ["x = torch.randn(n_rows, N", "y = torch.randn(", "at = torch.randint(0, "],
    ),
    "yes or no": (
        "tl.store(y_ptr + row * n + cols, tl.where(tl.load(at_ptr + row * n + cols), tl.load(x_ptr + row * n + cols, mask=cols < n), 0))",
        [
            "x = torch.randn(n_rows, N",
            "y = torch.empty(n_rows, N",
            'at = torch.randint(0, 2, (n_rows, N), device="cuda", dtype=torch.bool)',
        ],
    ),
}


@pytest.mark.parametrize("case", KERNELS)
def test_how_the_kernel_indexes(tmp_path: Path, case: str) -> None:
    body, wanted = KERNELS[case]
    host = "def run(x, y, at, n_rows, N):\n    at_kernel[(n_rows,)](x, y, at, N, BLOCK=64)\n"
    draft = of_text(tmp_path, ADDRESSES.format(body=body) + host)
    for start in wanted:
        assert any(line.startswith(start) for line in code(draft)), draft.text
    require_complete(draft)


def test_what_the_function_makes_is_no_larger_than_its_arguments_may_be(tmp_path: Path) -> None:
    host = "def outer(a, b):\n    out = a.new_empty((a.numel(), b.numel()))\n    copy_kernel[(1,)](a, out, a.numel(), BLOCK=64)\n"
    lines = code(of_text(tmp_path, COPY + host + "    copy_kernel[(1,)](b, out, b.numel(), BLOCK=64)\n"))
    sizes = [int(n) for n in lines[0].partition(" = ")[2].split(", ")]
    assert sizes[0] * sizes[-1] <= 1 << 26


def test_sizes_that_are_passed_beside_their_tensors(tmp_path: Path) -> None:
    host = "def scale(x, w, y, n_rows, n_cols):\n    rows_kernel[(n_rows,)](x, w, y, n_cols, n_cols, BLOCK=4096)\n"
    draft = of_text(tmp_path, ROWS + host)
    assert code(draft)[0] in ("n_rows, n_cols = 4096, 4096", "n_cols, n_rows = 4096, 4096")
    assert 'x = torch.randn(n_rows, n_cols, device="cuda", dtype=dtype)' in code(draft)
    assert 'y = torch.empty(n_rows, n_cols, device="cuda", dtype=dtype)' in code(draft), "it is only stored to"
    assert code(draft)[-1] == "scale(x, w, y, n_rows, n_cols)"


def test_a_call_elsewhere_says_shapes_and_numbers(tmp_path: Path) -> None:
    call = "from ops import scale\n\ndef main():\n    rows = 512\n    x = torch.randn((rows, 768), dtype=torch.half)\n    scale(x, 0.5)\n"
    (tmp_path / "run_it.py").write_text(f"import torch\n{call}")
    other = "def scale(x, alpha):\n    pass\n\nscale(torch.randn(3), 7.0)\n"  # of another name that is the same
    (tmp_path / "other.py").write_text(f"import torch\n{other}")
    draft = of_text(tmp_path, f"{COPY}def scale(x, alpha):\n{LAUNCH}")
    assert code(draft) == [
        'x = torch.randn(512, 768, device="cuda", dtype=torch.half)',
        "alpha = 0.5",
        "scale(x, alpha)",
    ]
    assert commented(draft, "alpha") == "as run_it.py calls it (line 7)"
    assert draft.guesses == ()


# ------------------------------------------------------------ what is called


def test_the_nearest_public_function_is_called(tmp_path: Path) -> None:
    host = f"def _launch(x):\n{LAUNCH}\ndef scale(x):\n    _launch(x)\n\ndef far(x):\n    return scale(x)\n"
    draft = of_text(tmp_path, COPY + host)
    assert (draft.called, draft.entry, draft.others) == ("scale", "bench_scale", ("_launch",))


def test_an_autograd_function_is_applied(tmp_path: Path) -> None:
    text = f"{COPY}class ScaleFunction(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, alpha):\n"
    text += textwrap.indent(LAUNCH, "    ") + "        return y\n"
    draft = of_text(tmp_path, text)
    assert (draft.called, draft.entry) == ("ScaleFunction.apply", "bench_scale")
    assert code(draft)[-1] == "ScaleFunction.apply(x, alpha)"
    assert "from ops import ScaleFunction\n" in draft.text


def test_a_kernel_of_the_backward_pass_is_reached_by_going_back(tmp_path: Path) -> None:
    back = textwrap.indent(LAUNCH.replace("(x)", "(dy)").replace("(x, y, x", "(dy, y, dy"), "    ")
    text = f"{COPY}class Scale(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.clone()\n\n"
    draft = of_text(tmp_path, f"{text}    @staticmethod\n    def backward(ctx, dy):\n{back}        return y\n")
    assert code(draft)[-2:] == ["out = Scale.apply(x)", "out.backward(torch.randn_like(out))"]
    assert "requires_grad=True" in next(line for line in code(draft) if line.startswith("x ="))


def test_a_static_method_is_called_by_its_class(tmp_path: Path) -> None:
    draft = of_text(tmp_path, f"{COPY}class Ops:\n    @staticmethod\n    def scale(x):\n{textwrap.indent(LAUNCH, '    ')}")
    assert (draft.called, draft.entry) == ("Ops.scale", "bench_scale")


def test_a_method_gets_an_object(tmp_path: Path) -> None:
    text = f"{COPY}class Scaler:\n    def __init__(self, width):\n        self.width = width\n\n"
    text += "    def run(self, x):\n        assert x.shape == (4, self.width)\n"
    draft = of_text(tmp_path, text + textwrap.indent(LAUNCH, "    "))
    assert code(draft)[-2:] == ["module = Scaler(width)", "module.run(x)"]
    assert 'x = torch.randn(4, width, device="cuda", dtype=dtype)' in code(draft)


def test_a_kernel_in_another_file_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(HEAD + COPY)
    (package / "api.py").write_text(f"import torch\nfrom .kernels import copy_kernel\n\ndef scale(x):\n{LAUNCH}")
    draft = drafted(package / "kernels.py")
    assert draft.path == str(package / "bench_api.py")
    assert "from pack.api import scale\n" in draft.text
    (package / "bench_api.py").write_text(draft.text)
    workspace = Workspace.for_file(str(package / "kernels.py"))
    found = choose_entry(workspace, find_program(workspace, str(package / "kernels.py")), None)
    assert (found["path"], found["name"]) == (draft.path, "bench_scale")


def test_a_file_that_no_import_can_name_gets_the_entry_itself(tmp_path: Path) -> None:
    path = tmp_path / "01-scale.py"
    path.write_text(f"{HEAD}{COPY}def scale(x):\n{LAUNCH}\ndef bench_scale(n):\n    pass\n")
    draft = drafted(path)
    assert (draft.path, draft.appended, draft.entry) == (str(path), True, "bench_scale_2")
    assert "import" not in draft.text, "torch is there already"
    with pytest.raises(SourceError, match="leave --out away"):
        drafted(path, out=str(tmp_path / "bench_it.py"))


REFUSED: dict[str, tuple[str, str]] = {
    "nothing launches it, and it has two axes": (
        COPY.replace("copy_kernel", "square_kernel").replace("tl.program_id(0) * BLOCK", "tl.program_id(1) * BLOCK + tl.program_id(0)"),
        "No code was found that launches square_kernel, and its grid can't be told from the kernel alone",
    ),
    "another kernel calls it": (
        "@triton.jit\ndef outer_kernel(x, n):\n    copy_kernel(x, x, n, 64)\n",
        "No code was found that launches copy_kernel",
    ),
    "only a test does": ("def test_it():\n    copy_kernel[(1,)](x, y, 3, BLOCK=64)\n", "launched in test_it only"),
    "only a function that is handed out": (
        "def make(y):\n    def inner(x):\n        copy_kernel[(1,)](x, y, 3, BLOCK=64)\n    return inner\n",
        "so there is no function for an entry to call",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_too_far_is_refused_in_a_sentence(tmp_path: Path, case: str) -> None:
    text, said = REFUSED[case]
    with pytest.raises(WorkloadError, match=said):
        of_text(tmp_path, COPY + text, "square_kernel" if "square_kernel" in text else "copy_kernel")


# ------------------------------------------------------------ what a person says


def test_answers_take_the_place_of_guesses(tmp_path: Path) -> None:
    text = f"{COPY}def scale(x, thing, eps):\n    M, N = x.shape\n{LAUNCH}"
    draft = of_text(tmp_path, text, M="12", dtype="bfloat16", thing="[x, 3]", eps="1e-3")
    assert code(draft) == [
        "M, N = 12, 4096",
        "dtype = torch.bfloat16",
        'x = torch.randn(M, N, device="cuda", dtype=dtype)',
        "thing = [x, 3]",
        "eps = 1e-3",
        "scale(x, thing, eps)",
    ]
    assert commented(draft, "thing") == commented(draft, "dtype") == ""


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"y": "3"}, "y is nothing that was guessed"),
        ({"thing": "3 +"}, "no Python"),
        ({"dtype": "double64"}, "no dtype"),
        ({"M": "many"}, "M"),
    ],
)
def test_answers_that_make_no_sense(tmp_path: Path, answers: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        of_text(tmp_path, f"{COPY}def scale(x, thing):\n    M, N = x.shape\n{LAUNCH}", **answers)


# ------------------------------------------------------------ whatever is written


NAMES = st.sampled_from(
    ["x", "w", "q", "n", "eps", "idx", "labels", "causal", "D", "class_", "torch_", "dtype", "module", "out", "self_", "é"]
)
STATEMENTS = st.sampled_from(
    [
        "M, N = {a}.shape",
        "B, H, T, D = {a}.shape",
        "*rest, D = {a}.shape",
        "assert {a}.shape == {b}.shape",
        "assert {a}.shape[-1] == {b}.shape[0]",
        "assert {a}.shape[1] == 2 * {b}.shape[1]",
        "assert {a}.numel() == {b}.numel()",
        "assert {a}.numel() == {b}.shape[0] * {a}.shape[0]",
        "assert {a}.shape[0] % {b} == 0",
        "assert {a}.shape[0] == {b}",
        "assert {a} in (16, 64)",
        "assert 0 < {a} < {b}",
        "assert isinstance({a}, int)",
        "if {a}.dim() == 3:\n        {a} = {a}.view(-1, {a}.shape[-1])",
        "{a} = {a}.reshape(-1, {b}.shape[-1])",
        "{a} = {b}",
        "{a} = {a}.t()",
        "if {a} is None:\n        {a} = torch.empty_like({b})",
        "if {b}:\n        {a} = {a}.contiguous()",
        "for t in {a}:\n        assert t.shape == {b}.shape",
        "assert {a}.dtype == {b}.dtype",
        "copy_kernel[({a}.shape[0],)]({a}, {b}, {a}.numel(), BLOCK={b})",
        "rows_kernel[(8,)]({a}, {b}, {a}, {b}.stride(0), {a}.shape[1], BLOCK=64)",
        "scale({a}, {b})",
    ]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    body=st.lists(st.tuples(STATEMENTS, st.integers(0, 3), st.integers(0, 3)), max_size=6),
)
@settings(max_examples=120, deadline=None)
def test_a_draft_is_always_python(folder: Path, names: list[str], body: list[tuple[str, int, int]]) -> None:
    lines = [text.format(a=names[a % len(names)], b=names[b % len(names)]) for text, a, b in body]
    lines.append(f"copy_kernel[(1,)]({names[0]}, {names[-1]}, 5, BLOCK=64)")
    host = f"def scale({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)
    path = str(folder / "ops.py")  # on no disk
    workspace = Workspace.for_file(path, {path: HEAD + COPY + ROWS + host})
    draft = draft_entry(workspace, find_program(workspace, path, "copy_kernel"))
    require_complete(draft)
    assert len(draft.text) < 6000

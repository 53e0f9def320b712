"""Entries that are drafted from the text of a program, over functions as people write them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.unit.workload.drafting import code, drafted, require_complete

FIXTURES = Path(__file__).parents[2] / "fixtures" / "drafts"
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

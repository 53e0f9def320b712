"""Attention over queries and keys of different numbers, and other ways to write its loop and its masks. ``outputs()``: on the CPU."""

from __future__ import annotations

from tests.unit.strategies.access_samples import HEAD
from tests.unit.strategies.samples import facts, launch

ATTENTION = (
    HEAD
    + """\
@triton.jit
def attention_kernel(Q, K, V, Out, lens, scale, n_q, n_kv, window,
                     D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    start_m = tl.program_id(0)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < n_q, other=0.0)
    m_i = tl.full((BLOCK_M,), -1.0e9, dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    end = tl.minimum((start_m + 1) * BLOCK_M, n_kv) if CAUSAL else n_kv
    for start_n in range(0, end, BLOCK_N):
        cols = start_n + offs_n
        k = tl.load(K + cols[None, :] * D + offs_d[:, None], mask=cols[None, :] < n_kv, other=0.0)
        qk = tl.dot(q, k) * scale
        qk = tl.where(cols[None, :] < n_kv, qk, -1.0e9)
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= cols[None, :], qk, -1.0e9)
        m_new = tl.maximum(m_i, tl.max(qk, axis=1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        v = tl.load(V + cols[:, None] * D + offs_d[None, :], mask=cols[:, None] < n_kv, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    acc = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * D + offs_d[None, :], acc, mask=offs_m[:, None] < n_q)


def attention(q, k, v, causal, window):
    out = torch.empty(q.shape)
    lens = torch.tensor([k.shape[0]])
    grid = (triton.cdiv(q.shape[0], 32),)
    attention_kernel[grid](q, k, v, out, lens, q.shape[1] ** -0.5, q.shape[0], k.shape[0], window,
                           D=q.shape[1], BLOCK_M=32, BLOCK_N=16, CAUSAL=causal)
    return out


def outputs():
    torch.manual_seed(0)
    sizes = ((50, 70, True, 16), (75, 50, True, 7), (33, 90, False, 64), (40, 1, False, 1))
    for n_q, n_kv, causal, window in sizes:
        q, k, v = (torch.randn(n, 16).half() for n in (n_q, n_kv, n_kv))
        yield attention(q, k, v, causal, window)
"""
)
WHERE = "qk = tl.where(offs_m[:, None] >= cols[None, :], qk, -1.0e9)"
COUNTED = {
    "for start_n in range(0, end, BLOCK_N):": "for i in range(0, tl.cdiv(end, BLOCK_N)):",
    "cols = start_n + offs_n": "cols = i * BLOCK_N + offs_n",
}
LOADED = {"    end = tl": "    n = tl.load(lens)\n    end = tl", "n_kv) if CAUSAL else n_kv": "n) if CAUSAL else n"}

#: What is written otherwise, and how the end of the blocks without masks is computed then.
ENDS: dict[str, tuple[dict[str, str], list[str]]] = {
    "the diagonal": (
        {},
        [
            "unmasked = tl.minimum(end, n_kv)",
            "if CAUSAL:",
            "    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)",
            "unmasked = tl.maximum(unmasked, 0) // BLOCK_N * BLOCK_N",
        ],
    ),
    "strictly below it": ({">= cols": "> cols"}, ["    unmasked = tl.minimum(unmasked, start_m * BLOCK_M)"]),
    "the last queries are aligned with the last keys": (
        {"offs_m[:, None] >= cols[None, :]": "cols[None, :] <= offs_m[:, None] + (n_kv - n_q)", "n_kv) if": "n_kv + 0 * n_q) if"},
        ["    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + n_kv + 1 - n_q)"],
    ),
    "two in one": (
        {"tl.where(offs_m[:, None] >= cols[None, :], qk": "tl.where((offs_m[:, None] >= cols[None, :]) & (cols[None, :] < n_kv), qk"},
        ["    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)"],
    ),
    "a mask with a name": (
        {WHERE: f"seen = offs_m[:, None] >= cols[None, :]\n            {WHERE.replace('offs_m[:, None] >= cols[None, :]', 'seen')}"},
        ["    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)"],
    ),
    "a mask of one side": (
        {
            "cols = start_n + offs_n": "cols = start_n + offs_n\n        there = cols < n_kv",
            "cols[None, :] < n_kv, other": "there[None, :] & (offs_d[:, None] < D), other",
            "cols[None, :] < n_kv": "there[None, :]",
            "cols[:, None] < n_kv": "there[:, None]",
        },
        ["unmasked = tl.minimum(end, n_kv)", "k = tl.load(K + cols[None, :] * D + offs_d[:, None], mask=offs_d[:, None] < D, other=0.0)"],
    ),
    "what is left of a mask": (
        {"tl.where(cols[None, :] < n_kv, qk": "tl.where((cols[None, :] < n_kv) & (offs_m[:, None] < n_q), qk"},
        ["qk = tl.where(offs_m[:, None] < n_q, qk, -1.0e9)"],
    ),
    "a window stays": (
        {"offs_m[:, None] >= cols[None, :], qk": "offs_m[:, None] - cols[None, :] < window, qk"},
        [
            "unmasked = tl.minimum(end, n_kv)",
            "        if CAUSAL:",
            "            qk = tl.where(offs_m[:, None] - cols[None, :] < window, qk, -1.0e9)",
        ],
    ),
    "a first key stays": (
        {"offs_m[:, None] >= cols[None, :], qk": "cols[None, :] >= 4, qk"},
        ["            qk = tl.where(cols[None, :] >= 4, qk, -1.0e9)"],
    ),
    "what is left to the end": (
        {"cols[None, :] < n_kv": "offs_n[None, :] < n_kv - start_n", "cols[:, None] < n_kv": "offs_n[:, None] < n_kv - start_n"},
        ["unmasked = tl.minimum(end, n_kv)"],
    ),
    "what a mask makes large stays": (
        {WHERE: "l_i += tl.sum(tl.where(offs_m[:, None] >= cols[None, :], scale, 0.0), axis=1)"},
        ["            l_i += tl.sum(tl.where(offs_m[:, None] >= cols[None, :], scale, 0.0), axis=1)"],
    ),
    "added to something as large": (
        {WHERE: "qk = qk * 1.0 + tl.where(offs_m[:, None] >= cols[None, :], 0, -1.0e9)"},
        ["            qk = qk * 1.0 + 0"],
    ),
    "added": (
        {WHERE: "qk += tl.where(offs_m[:, None] >= cols[None, :], 0, -1.0e9)"},
        ["    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)"],
    ),
    "a hint": (
        {"cols = start_n + offs_n": "start_n = tl.multiple_of(start_n, BLOCK_N)\n        cols = start_n + offs_n"},
        ["    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)"],
    ),
    "a length that is loaded": (
        {
            **LOADED,
            "cols[None, :] < n_kv": "cols[None, :] < n",
            "cols[:, None] < n_kv": "cols[:, None] < n",
        },
        ["unmasked = tl.minimum(end, n)"],
    ),
    "another first block": (
        {"    for start_n in range(0,": "    low = start_m // 2 * BLOCK_N\n    for start_n in range(low,"},
        ["unmasked = low + (tl.maximum(unmasked, low) - low) // BLOCK_N * BLOCK_N", "for start_n in range(low, unmasked, BLOCK_N):"],
    ),
    "blocks that are counted": (
        COUNTED,
        [
            "unmasked = n_kv",
            "    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)",
            "unmasked = tl.maximum(tl.minimum(tl.cdiv(end, BLOCK_N), tl.maximum(unmasked, 0) // BLOCK_N), 0)",
            "for i in range(0, unmasked):",
            "for i in range(unmasked, tl.cdiv(end, BLOCK_N)):",
        ],
    ),
    "half a block of columns": (
        {"offs_n = tl.arange(0, BLOCK_N)": "offs_n = tl.arange(0, 8)"},
        ["unmasked = tl.minimum(end, n_kv + BLOCK_N - 8)", "    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + BLOCK_N - 7)"],
    ),
    "not where the flag is set": (
        {"if CAUSAL:": "if not CAUSAL:\n            qk += 0.0\n        else:"},
        ["if not (not CAUSAL):", "    unmasked = tl.minimum(unmasked, start_m * BLOCK_M + 1)"],
    ),
    "a test of the launch": ({"if CAUSAL:": "if window > 5:"}, ["unmasked = tl.minimum(tl.minimum(end, n_kv), start_m * BLOCK_M + 1)"]),
}

#: Loops that stay as they are.
STAYS: dict[str, dict[str, str]] = {
    "the index is changed": {"cols = start_n + offs_n": "start_n = start_n + 0\n        cols = start_n + offs_n"},
    "from the last block to the first": {"range(0, end, BLOCK_N)": "range((end - 1) // BLOCK_N * BLOCK_N, -1, -BLOCK_N)"},
    "in steps of the launch's": {"range(0, end, BLOCK_N)": "range(0, end, n_q // n_q * 16)"},
    "an end that the loop changes": {
        "    end = tl": "    n = n_kv\n    end = tl",
        "cols[None, :] < n_kv": "cols[None, :] < n",
        "cols[:, None] < n_kv": "cols[:, None] < n",
        "offs_m[:, None] >= cols[None, :], qk": "offs_m[:, None] + n - n_kv >= cols[None, :], qk",
        "        m_i = m_new\n": "        m_i = m_new\n        n = n - 1\n",
    },
    "columns from the last to the first": {"offs_n = tl.arange(0, BLOCK_N)": "offs_n = 15 - tl.arange(0, BLOCK_N)"},
    "a limit of another type than the loop's": {
        "    end = tl": "    n = tl.load(lens)\n    end = tl",
        "cols[None, :] < n_kv": "cols[None, :] < n",
        "cols[:, None] < n_kv": "cols[:, None] < n",
        f"            {WHERE}": "            qk += 0",
    },
    "or": {
        "cols[None, :] < n_kv": "(cols[None, :] < n_kv) | (n_q < 0)",
        "cols[:, None] < n_kv": "(cols[:, None] < n_kv) | (n_q < 0)",
        f"            {WHERE}": "            qk += 0",
    },
    "another index, moved on by hand": {
        "    for start_n": "    cols = offs_n\n    for start_n",
        "        cols = start_n + offs_n\n": "",
        "        m_i = m_new\n": "        m_i = m_new\n        cols += BLOCK_N\n",
    },
    "two bounds read from memory twice": {"range(0, end, BLOCK_N)": "range(0, tl.load(lens), BLOCK_N)"},
    "it goes on where another has ended": {
        "    for start_n in range(0, end, BLOCK_N):": (
            "    middle = 16\n    for start_n in range(0, middle, BLOCK_N):\n        l_i += 0\n"
            "    for start_n in range(middle, end, BLOCK_N):"
        )
    },
}

LOOP, INDEX = "    for start_n in range(0, end, BLOCK_N):", "        cols = start_n + offs_n\n"
LAST = "        m_i = m_new\n"
#: Written so that something that looks like a mask's part is more than that, or changes on the way. Whatever is made of them is the same.
ODD: dict[str, dict[str, str]] = {
    "a start that is a sum": {LOOP: "    first = start_m // 2 * BLOCK_N\n    for start_n in range(first + BLOCK_N, end, BLOCK_N):"},
    "a selection of more rows": {
        WHERE: "l_i += tl.sum(tl.where((offs_m[:, None] >= cols[None, :]) & (offs_m[:, None] > 3), 1.0, 0.0), axis=1)"
    },
    "a mask that is counted": {
        WHERE: "l_i += 0",
        LAST: LAST + "        seen = (cols[None, :] < n_kv) & (offs_m[:, None] > 3)\n        l_i += tl.sum(seen.to(tl.float32), axis=1)\n",
    },
    "a mask of numbers": {
        "        qk = tl.where(cols[None, :] < n_kv, qk": "        bias = tl.load(lens + cols * 0)\n"
        "        qk = tl.where((cols[None, :] < n_kv) & (bias[None, :] - bias[None, :] + 2), qk",
    },
    "no sign": {WHERE: "qk = tl.where((cols[None, :] - window).to(tl.uint32) < n_kv, qk, -1.0e9)"},
    "a limit that goes down": {
        "    end = tl": "    n = n_kv\n    end = tl",
        INDEX: "        n = n - 3\n" + INDEX,
        "        qk = tl.where(cols[None, :] < n_kv": "        qk = tl.where(cols[None, :] < n",
    },
    "a mask that is read afterwards": {
        LOOP: "    seen = offs_n < 5\n" + LOOP,
        INDEX: INDEX + "        seen = cols < n_kv\n",
        "mask=cols[None, :] < n_kv": "mask=seen[None, :]",
        "    acc = acc / l_i[:, None]\n": "    acc = acc / l_i[:, None] + tl.sum(seen.to(tl.float32), axis=0)\n",
        "(33, 90, False, 64)": "(33, 96, False, 64)",
    },
    "a mask that is narrowed": {
        INDEX: INDEX + "        seen = cols < n_kv\n",
        "mask=cols[None, :] < n_kv": "mask=seen[None, :]",
        LAST: LAST + "        seen &= cols > 0\n",
    },
    "two types": {
        "acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)": "half = p.to(v.dtype)\n"
        "        half = half * tl.where(offs_m[:, None] >= cols[None, :], 1.0, 0.0)\n"
        "        acc = acc * alpha[:, None] + tl.dot(half, v.to(tl.float32))",
    },
    "two lines": {WHERE: "qk = tl.where(offs_m[:, None] >= cols[None, :], qk\n            - 0.5 * cols[None, :], -1.0e9)"},
    "no start, or very far": {LOOP: "    low = tl.where(window > 1000, 16, 0)\n    for start_n in range(low, end, BLOCK_N):"},
    "a stop between parentheses": {**COUNTED, "for start_n in range(0, end, BLOCK_N):": "for i in range((tl.cdiv(end, BLOCK_N))):"},
    "every second block": {**COUNTED, "for start_n in range(0, end, BLOCK_N):": "for i in tl.range(0, tl.cdiv(end, BLOCK_N), step=2):"},
    "a constexpr that is none": {"    offs_n =": "    BLOCK_N = BLOCK_N // 2\n    offs_n ="},
    "half of the keys": {"cols[None, :] < n_kv": "cols[None, :] < n_kv / 2"},
    "numbers without an arange": {
        "    offs_d =": "    last = tl.full((BLOCK_M,), 1, tl.int32) * n_kv\n    offs_d =",
        "        qk = tl.where(cols[None, :] < n_kv": "        qk = tl.where(cols[None, :] < last[:, None]",
    },
    "a limit under a test": {
        "    end = tl": "    if CAUSAL:\n        last = n_kv\n    end = tl",
        "        if CAUSAL:\n": "        if CAUSAL and start_n >= 0:\n",
        WHERE: "qk = tl.where(cols[None, :] < last, qk, -1.0e9)",
    },
}


def written(changes: dict[str, str]) -> str:
    text = ATTENTION
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def attention_facts(program, n=512):
    """What a capture on that many queries and keys gives."""
    tensors = {
        "Q": ([n, 16], "float16"),
        "K": ([n, 16], "float16"),
        "V": ([n, 16], "float16"),
        "Out": ([n, 16], "float32"),
        "lens": ([1], "int64"),
    }
    scalars = {"n_q": n, "n_kv": n, "scale": 0.25, "window": n}
    return facts(launch(program, [n // 32, 1, 1], {"D": 16, "BLOCK_M": 32, "BLOCK_N": 16, "CAUSAL": True}, scalars, tensors))

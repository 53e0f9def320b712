"""Random programs with products: matrices in tiles, with and without a batch, and tiles that a few programs walk over."""

from __future__ import annotations

from tests.e2e.strategies.soundness.pieces import Draft, Pick, Sample, finished

SHAPES = (
    ((32, 48, 32), (16, 32, 64)),
    ((32, 32, 96),),
    ((20, 40, 24), (33, 17, 40)),
    ((16, 32, 160), (32, 16, 128)),
    ((16, 16, 288), (16, 32, 256)),
    ((32, 64, 32), (32, 32, 64)),
)
STRESS = ((1, 1, 1), (17, 31, 33), (32, 32, 31), (16, 48, 65), (33, 65, 8), (0, 16, 16), (16, 16, 0))


def product(pick: Pick) -> Sample:
    """``c = a @ b``, in one of the ways that these are written."""
    draft = Draft(pick, "product_kernel", "M, N, K")
    ids = pick.of("one", "one", "two", "batched", "grouped", "walk", "walk")
    dtype = pick.of("float16", "float16", "float32")
    strided = pick.yes(0.7)
    pointers, wrapped, whole = pick.yes(), pick.yes(0.3), pick.yes(0.15)
    batched, transposed = ids == "batched", strided and pick.yes(0.4)
    kind = f", dtype=torch.{dtype}"
    lead = "2, " if batched else ""
    draft.tensor("a_ptr", "a", f"fill({lead}M, K{kind})")
    draft.tensor("b_ptr", "b", f"fill({lead}N, K{kind}).transpose(-2, -1)" if transposed else f"fill({lead}K, N{kind})")
    draft.passed += [("c_ptr", "c"), ("M", "M"), ("N", "N"), ("K", "K")]
    am, ak, bk, bn = ("stride_am", "stride_ak", "stride_bk", "stride_bn") if strided else ("K", "1", "N", "1")
    if strided:
        draft.passed += [
            ("stride_am", "a.stride(-2)"),
            ("stride_ak", "a.stride(-1)"),
            ("stride_bk", "b.stride(-2)"),
            ("stride_bn", "b.stride(-1)"),
        ]
    if batched:
        draft.passed += [("stride_ab", "a.stride(0)"), ("stride_bb", "b.stride(0)")]
    m, n, k = pick.number(16, 32, 64), pick.number(16, 32), pick.number(16, 32)
    draft.blocks = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    draft.sides = [("M", "BLOCK_M"), ("N", "BLOCK_N")]
    step = ""
    if ids in ("one", "grouped"):
        draft.product = True
        draft.body += ["pid = tl.program_id(0)", "num_n = tl.cdiv(N, BLOCK_N)"]
        if ids == "one":
            draft.body += ["pid_m = pid // num_n", "pid_n = pid % num_n"]
        else:
            draft.blocks["GROUP_M"] = 4
            draft.body += [
                "num_m = tl.cdiv(M, BLOCK_M)",
                "in_group = GROUP_M * num_n",
                "group = pid // in_group",
                "first = group * GROUP_M",
                "size = min(num_m - first, GROUP_M)",
                "pid_m = first + (pid % in_group) % size",
                "pid_n = (pid % in_group) // size",
            ]
    elif ids == "walk":
        draft.sides = [("3", None)]
        draft.body += [
            "num_n = tl.cdiv(N, BLOCK_N)",
            "tiles = tl.cdiv(M, BLOCK_M) * num_n",
            f"for tile in {pick.of('range', 'tl.range')}(tl.program_id(0), tiles, tl.num_programs(0)):",
            "    pid_m = tile // num_n",
            "    pid_n = tile % num_n",
        ]
        step = "    "
    else:
        draft.body += ["pid_m = tl.program_id(0)", "pid_n = tl.program_id(1)"]
        if batched:
            draft.sides.append(("a.shape[0]", None))
            draft.body += ["z = tl.program_id(2)", "a_ptr += z * stride_ab", "b_ptr += z * stride_bb", "c_ptr += z * M * N"]
    body: list[str] = []
    wrap_m, wrap_n = (" % M", " % N") if wrapped else ("", "")
    body += [
        f"offs_m = {'(' if wrapped else ''}pid_m * BLOCK_M + tl.arange(0, BLOCK_M){')' if wrapped else ''}{wrap_m}",
        f"offs_n = {'(' if wrapped else ''}pid_n * BLOCK_N + tl.arange(0, BLOCK_N){')' if wrapped else ''}{wrap_n}",
        "offs_k = tl.arange(0, BLOCK_K)",
        "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)",
    ]
    along_m, along_n = ("", "") if wrapped else ("(offs_m[:, None] < M) & ", " & (offs_n[None, :] < N)")
    dot = pick.of("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)", "acc += tl.dot(a, b)")
    if pointers:
        body += [
            f"a_ptrs = a_ptr + offs_m[:, None] * {am} + offs_k[None, :] * {ak}",
            f"b_ptrs = b_ptr + offs_k[:, None] * {bk} + offs_n[None, :] * {bn}",
            "for k in range(0, tl.cdiv(K, BLOCK_K)):",
            f"    a = tl.load(a_ptrs, mask={along_m}(offs_k[None, :] < K - k * BLOCK_K), other=0.0)",
            f"    b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k * BLOCK_K){along_n}, other=0.0)",
            f"    {dot}",
            f"    a_ptrs += BLOCK_K * {ak}",
            f"    b_ptrs += BLOCK_K * {bk}",
        ]
    else:
        body += [
            "for start in range(0, K, BLOCK_K):",
            "    ks = start + offs_k",
            f"    a = tl.load(a_ptr + offs_m[:, None] * {am} + ks[None, :] * {ak}, mask={along_m}(ks[None, :] < K), other=0.0)",
            f"    b = tl.load(b_ptr + ks[:, None] * {bk} + offs_n[None, :] * {bn}, mask=(ks[:, None] < K){along_n}, other=0.0)",
            f"    {dot}",
        ]
    if whole:  # sizes of K are whole blocks, and nothing is masked along it
        body = [row.replace(" & (ks[None, :] < K)", "").replace(" & (offs_k[None, :] < K - k * BLOCK_K)", "") for row in body]
    stored = pick.of("acc", "acc", "(acc * 0.5)", "tl.maximum(acc, 0.0)") + (".to(tl.float16)" if dtype == "float16" else "")
    body += [
        "rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)",
        "cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)",
        "mask = (rows[:, None] < M) & (cols[None, :] < N)",
        f"tl.store(c_ptr + rows[:, None] * N + cols[None, :], {stored}, mask=mask)",
    ]
    draft.body += [step + row for row in body]
    if pick.yes(0.2):  # what the masks leave out is anybody's guess, and all sizes are whole blocks
        draft.body = [row.replace(", other=0.0)", ")") for row in draft.body]
        ragged = True
    else:
        ragged = False
    shape = "(a.shape[0], M, N)" if batched else "(M, N)"
    draft.host += ["M, K = a.shape[-2:]", "N = b.shape[-1]", f"c = torch.{pick.of('empty', 'zeros')}({shape}, dtype=a.dtype)"]
    draft.result = "c"
    sizes, stress = pick.choice(SHAPES), STRESS
    if whole and not wrapped:
        sizes = ((32, 48, 64), (40, 32, 32))
        stress = tuple((m, n, k // 32 * 32) for m, n, k in STRESS)
    if ragged:
        sizes, stress = ((32, 48, 64), (64, 32, 96)), ((32, 32, 32), (64, 32, 160))
    reference = "(a @ b) * 0.5" if "0.5" in stored else "(a @ b).clamp(min=0)" if "maximum" in stored else "a @ b"
    return finished(
        f"product {ids} {dtype}", draft, sizes, stress, reference=[f"return {reference}"], way=pick.of("direct", "direct", "alias", "twice")
    )


def eight_bits(pick: Pick) -> Sample:
    """A product of 8-bit floats."""
    draft = Draft(pick, "eight_kernel", "M, N, K")
    draft.tensor("a_ptr", "a", "fill(M, K).clamp(-8, 8).to(torch.float8_e5m2)")
    draft.tensor("b_ptr", "b", "fill(K, N).clamp(-8, 8).to(torch.float8_e5m2)")
    draft.passed += [("c_ptr", "c"), ("M", "M"), ("N", "N"), ("K", "K")]
    draft.blocks = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}
    draft.sides = [("M", "BLOCK_M"), ("N", "BLOCK_N")]
    draft.body += [
        "rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)",
        "cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)",
        "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)",
        "for start in range(0, K, BLOCK_K):",
        "    ks = start + tl.arange(0, BLOCK_K)",
        "    a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)",
        "    b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)",
        "    acc += tl.dot(a, b)",
        "tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))",
    ]
    draft.host += ["M, K = a.shape", "N = b.shape[1]", "c = torch.empty((M, N), dtype=torch.float32)"]
    draft.result = "c"
    return finished("eight bits", draft, ((32, 32, 64), (48, 16, 96)), ((1, 1, 1), (17, 31, 33)))

"""What a draft takes from asserts, annotations, docstrings, calls and how the kernel indexes; and what is guessed without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.workload.drafting import COPY, LAUNCH, code, commented, of_text, require_complete

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

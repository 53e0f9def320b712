"""The number of an autotuner's configurations is right, or unknown."""

from __future__ import annotations

import pytest

from kernelband.source import find_kernels
from kernelband.source.config_count import config_count

HEAD = "import triton\nimport triton.language as tl\nfrom triton import Config\n\n"
KERNEL = """
@triton.autotune(configs={configs}, key=["n"])
@triton.heuristics({{"EVEN": lambda args: args["n"] % 64 == 0}})
@triton.jit
def k(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)
"""
C = "triton.Config({'BLOCK': 64})"


@pytest.mark.parametrize(
    ("before", "configs", "count"),
    [
        ("", f"[{C}, {C}, Config({{'BLOCK': 128}}, num_warps=8)]", 3),
        ("", "[triton.Config({'BLOCK': b}, num_warps=w) for b in [32, 64, 128] for w in (2, 4)]", 6),
        ("", "[triton.Config({'BLOCK': 2**b}) for b in range(5, 10)]", 5),
        ("", "[triton.Config({'BLOCK': b}) for b in list(range(32, 129, 32))]", 4),
        (f"CONFIGS = [{C}] + [{C}, {C}]\n", "CONFIGS", 3),
        (f"ONE = [{C}]\nMORE = [*ONE, {C}]\n", "ONE + MORE", 3),
        ("WARPS = [2, 4, 8]\n", "[triton.Config({'BLOCK': b}, num_warps=w) for b in [32, 64] for w in WARPS]", 6),
        ("BIG = False\n", f"[{C}, {C}] if BIG else [{C}, {C}]", 2),
        ("BIG = False\n", f"[{C}, {C}] if BIG else [{C}]", None),
        ("", "[triton.Config({'BLOCK': b}, num_warps=w) for b in [32, 64] for w in [2, 4] if b > w]", None),
        ("", "[triton.Config({'BLOCK': b}, num_warps=w) for b in [32, 64] for w in range(b)]", None),
        ("b = [1]\n", "[triton.Config({'BLOCK': c}) for b in [[32], [64, 128]] for c in b]", None),
        (f"def get():\n    return [{C}, {C}]\n\n", "get()", None),
        (f"CONFIGS = [{C}]\nCONFIGS.append({C})\n", "CONFIGS", None),
        (f"CONFIGS = [{C}]\nCONFIGS += [{C}]\n", "CONFIGS", None),
        (f"if True:\n    CONFIGS = [{C}]\nelse:\n    CONFIGS = [{C}, {C}]\n", "CONFIGS", None),
        (f"CONFIGS = [{C}, {C}]\nCONFIGS[1:] = []\n", "CONFIGS", None),
        ("from sizes import CONFIGS\n", "CONFIGS", None),
        ("", f"list(filter(bool, [{C}]))", None),
    ],
)
def test_it_is_counted_or_unknown(before: str, configs: str, count: int | None) -> None:
    text = HEAD + before + KERNEL.format(configs=configs)
    (kernel,) = find_kernels("/w/k.py", text)
    assert config_count(kernel, text) == count


def test_without_an_autotuner_there_are_none_and_broken_text_tells_nothing() -> None:
    text = HEAD + KERNEL.format(configs=f"[{C}]")
    plain = text.replace(f'@triton.autotune(configs=[{C}], key=["n"])\n', "")
    assert config_count(find_kernels("/w/k.py", plain)[0], plain) == 0
    broken = text + "\n\ndef typed(:\n"
    assert config_count(find_kernels("/w/k.py", broken)[0], broken) is None


def test_names_of_other_modules() -> None:
    text = "from triton import autotune, Config as C, jit\n" + KERNEL.format(configs="[C({'BLOCK': 64}), C({'BLOCK': 32})]").replace(
        "@triton.autotune(configs=", "@autotune("
    ).replace("@triton.jit", "@jit").replace("@triton.heuristics", "@triton_heuristics")
    (kernel,) = find_kernels("/w/k.py", text)
    assert config_count(kernel, text) == 2

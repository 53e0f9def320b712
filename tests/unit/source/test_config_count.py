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


@pytest.mark.parametrize(
    "before",
    [
        f"def more(given):\n    given.append({C})\n\nCONFIGS = [{C}]\nmore(CONFIGS)\n",
        f"CONFIGS = [{C}]\nother = CONFIGS\nother.append({C})\n",
        f"CONFIGS = other = [{C}]\nother.append({C})\n",
        f"CONFIGS = [{C}]\nTABLE = {{'a': CONFIGS}}\nTABLE['a'].append({C})\n",
        f"CONFIGS = [{C}]\nlist.append(CONFIGS, {C})\n",
        f"CONFIGS = [{C}]\ndel CONFIGS[0]\n",
        f"CONFIGS = [{C}]\nfrom sizes import *\n",
        f"CONFIGS = [{C}]\ntry:\n    from sizes import CONFIGS\nexcept ImportError:\n    pass\n",
        f"CONFIGS = [{C}]\ndef CONFIGS():\n    pass\n",
        f"CONFIGS = [{C}]\ndef grow():\n    global CONFIGS\n    CONFIGS = []\ngrow()\n",
    ],
)
def test_a_list_that_others_may_have_changed_is_unknown(before: str) -> None:
    text = HEAD + before + KERNEL.format(configs="CONFIGS")
    assert config_count(find_kernels("/w/k.py", text)[0], text) is None


@pytest.mark.parametrize(
    "inner", ["def make(CONFIGS):", "def make():\n    from sizes import CONFIGS", f"class Made:\n    CONFIGS = [{C}] * 2"]
)
def test_a_name_that_means_something_else_at_the_kernel_is_unknown(inner: str) -> None:
    kernel = KERNEL.format(configs="CONFIGS").replace("\n", "\n    ")
    text = HEAD + f"CONFIGS = [{C}]\n\n{inner}{kernel}\n"
    assert config_count(find_kernels("/w/k.py", text)[0], text) is None


@pytest.mark.parametrize(
    ("before", "configs"),
    [
        ("def range(n):\n    return [n]\n", "[triton.Config({'BLOCK': b}) for b in range(5)]"),
        ("from sizes import list\n", f"list([{C}, {C}])"),
        ("from sizes import *\n", f"tuple([{C}, {C}])"),
    ],
)
def test_a_function_that_is_not_the_built_in_one_is_unknown(before: str, configs: str) -> None:
    text = HEAD + before + KERNEL.format(configs=configs)
    assert config_count(find_kernels("/w/k.py", text)[0], text) is None


@pytest.mark.parametrize(
    ("before", "decorator", "count"),
    [
        ("from triton import autotune as tune\n", f"tune([{C}, {C}], key=['n'])", 2),
        ("import triton as t\n", f"t.autotune(configs=[{C}, {C}], key=['n'])", 2),
        ("import functools\n", f"functools.partial(triton.autotune, configs=[{C}])(key=['n'])", None),
        (f"import functools\nautotune = functools.partial(triton.autotune, [{C}, {C}])\n", "autotune(['n'])", None),
        (f"def tuner(configs, key):\n    return triton.autotune(configs + [{C}], key)\n", f"tuner(configs=[{C}], key=['n'])", None),
        ("from sizes import fancy_autotune\n", f"fancy_autotune([{C}], key=['n'])", None),
        (f"GIVEN = ([{C}, {C}], ['n'])\n", "triton.autotune(*GIVEN)", None),
    ],
)
def test_only_the_list_of_tritons_own_tuner_is_counted(before: str, decorator: str, count: int | None) -> None:
    """A project's own may add to its list or leave some out."""
    text = HEAD + before + KERNEL.format(configs="[]").replace('triton.autotune(configs=[], key=["n"])', decorator)
    (kernel,) = [k for k in find_kernels("/w/k.py", text) if k.place.name == "k"]
    assert not kernel.autotuned or config_count(kernel, text) == count
    assert kernel.autotuned or count is None


def test_lists_as_they_are_written_in_public_kernels() -> None:
    for before, configs, count in [
        (f"CONFIGS: list[triton.Config] = [{C}, {C}]\n", "CONFIGS", 2),
        ("", " + ".join([f"[{C}]"] * 12), 12),
        ("", "[triton.Config({'BLOCK': 2**b}) for b in range(9, 4, -1)]", 5),
        (f"CONFIGS = [{C}, {C}]\nprint(len(CONFIGS))\nfor c in CONFIGS:\n    print(c)\n", "CONFIGS", 2),
        (f"CONFIGS = [{C}, {C}]\nfast = triton.autotune(CONFIGS, key=['n'])\n", "CONFIGS", 2),
        ("SIZES = (32, 64)\nshow(SIZES)\n", "[triton.Config({'BLOCK': b}) for b in SIZES]", 2),
        ("from sizes import *\nSIZES = [32, 64]\n", "[triton.Config({'BLOCK': b}) for b in SIZES]", 2),
    ]:
        text = HEAD + before + KERNEL.format(configs=configs)
        assert config_count(find_kernels("/w/k.py", text)[0], text) == count, configs
        assert config_count(find_kernels("/w/k.py", "\ufeff" + text)[0], "\ufeff" + text) == count, "a byte order mark says nothing"


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

"""What the key sees and what it doesn't."""

from __future__ import annotations

import pytest

from kernelband.history import kernel_key
from kernelband.source import form
from kernelband.source.form import normal_form
from kernelband.source.model import HostFunction, Kernel, Place, Program, Span

TEXT = """import torch
SIZE = 64
OTHER = 1

class M:
    @triton.jit
    def k(x, n, B: tl.constexpr):
        a = tl.load(x + 1)  # read
        tl.store(x, a)

    def forward(self, x):
        half = "mean"
        return M.k[(1,)](x, SIZE, B=SIZE, mode=half)
"""
ENVIRONMENT = {"triton": "3.6.0", "torch": "2.13", "driver": None, "ptxas": "12.9", "settings": {}}


def program(text: str) -> Program:
    start = text.index("@triton.jit")
    middle = text.index("def forward")
    end = text.rindex(")") + 1
    kernel = Kernel(Place("/k.py", "M.k"), Span(start, text.rindex(")", 0, middle) + 1), Span(start, start), Span(start, start), (), ())
    host = HostFunction(Place("/k.py", "M.forward"), "method", Span(middle, end), ())
    return Program(kernel, (), (host,), {"/k.py": text})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # read", ""),
        ('"mean"', "'mean'"),
        ("OTHER = 1", "OTHER = 2"),
        ("import torch\n", "import torch\nimport os\n\n"),
        ("tl.load(x + 1)", "tl.load(\n            x\n            + 1,\n        )"),
        ("tl.store(x, a)", "\n        tl.store(x, (a))"),
    ],
)
def test_writing_does_not_matter(old: str, new: str) -> None:
    assert old in TEXT
    assert form(program(TEXT)) == form(program(TEXT.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"), [("x + 1", "x + 2"), ("SIZE = 64", "SIZE = 32"), ("B=SIZE", "B=128"), ('"mean"', '"sum"'), ("(1,)", "(2,)")]
)
def test_meaning_matters(old: str, new: str) -> None:
    assert form(program(TEXT)) != form(program(TEXT.replace(old, new)))


@pytest.mark.parametrize(
    ("field", "value"),
    [("triton", "3.9"), ("torch", "2.14"), ("driver", "580"), ("ptxas", "13"), ("settings", {"TRITON_F32_DEFAULT": "ieee"})],
)
def test_versions_matter(field: str, value: object) -> None:
    p = program(TEXT)
    case = {"id": "c", "boundary": "host_call", "arguments": "x: float32[4]", "role": "time", "noise": 0.0}
    base = kernel_key(p, [case], "NVIDIA H200", ENVIRONMENT)
    assert kernel_key(p, [case | {"noise": 0.5}], "NVIDIA H200", ENVIRONMENT | {"python": "3.13"}) == base
    assert kernel_key(p, [case], "NVIDIA H200", ENVIRONMENT | {field: value}) != base
    assert kernel_key(p, [case], "NVIDIA H200", ENVIRONMENT | {"settings": {"TRITON_CACHE_DIR": "/tmp/x"}}) == base
    assert kernel_key(p, [case], "NVIDIA H100", ENVIRONMENT) != base
    assert kernel_key(p, [case | {"id": "d"}], "NVIDIA H200", ENVIRONMENT) != base


def test_broken_text_still_has_a_form() -> None:
    assert normal_form("def f(:\n\n  x  \n") == normal_form("def f(:\n  x\n")
    assert normal_form("def f(:\n x") != normal_form("def f(:\n y")


CALLED = """import triton


def is_hip():
    return False


if is_hip():
    WIDTH = 32
else:
    WIDTH = 64


def configs():
    return [triton.Config({"B": WIDTH})]


class Sizes:
    block = 4


def unread():
    return 1


@triton.autotune(configs=configs(), key=["n"])
@triton.jit
def k(x, n, B: tl.constexpr):
    tl.store(x, n)


def forward(x):
    return k[(Sizes.block,)](x, 1)
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("WIDTH = 32", "WIDTH = 16", False),
        ("return False", "return True", False),
        ('{"B": WIDTH}', '{"B": 2 * WIDTH}', False),
        ("block = 4", "block = 8", False),
        ("return 1\n\n\n@", "return 2\n\n\n@", True),
    ],
)
def test_what_is_called_counts(old: str, new: str, same: bool) -> None:
    def key(text: str) -> str:
        start, host = text.index("@triton.autotune"), text.index("def forward")
        kernel = Kernel(Place("/k.py", "k"), Span(start, text.index("\n\n\ndef forward")), Span(start, start), Span(start, start), (), ())
        own = HostFunction(Place("/k.py", "forward"), "function", Span(host, len(text) - 1), ())
        return form(Program(kernel, (), (own,), {"/k.py": text}))

    assert old in CALLED
    assert (key(CALLED) == key(CALLED.replace(old, new))) is same

"""Kernels that a program writes as text: told with their line, where no kernel or none of a name stands in the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.source import choose_kernel, find_kernels
from kernelband.source.written import written_kernel


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def write(code):\n    code.line('@triton.jit')\n", 2),
        ('def write(code):\n    code.line(f"@triton.jit(do_not_specialize={names})")\n', 2),
        ("TEXT = '''\nimport triton\n\n\n@triton.jit\ndef k(x): pass\n'''\n", 5),
        ("TEXT = f'''\nimport triton\n\n    @triton.jit\n    def {name}(x): pass\n'''\n", 4),
        ("TEXT = 'import triton\\n@triton.jit\\ndef k(x): pass'\n", 1),
        ("TEXT = ('import triton\\n'\n  '@jit\\n'\n  'def k(x): pass')\n", 2),
        ("lines = [\n    r'@triton.jit',\n]\n", 2),
        ('"""Has\n@triton.jit\nfunctions."""\n', None),
        ("def f():\n    '''@triton.jit'''\n", None),
        ("# '@triton.jit'\n", None),
        ("text = 'see @triton.jit'\n", None),
        ("@triton.jit\ndef k(x): pass\n", None),
        ("text = '@triton.jitter'\n", None),
    ],
)
def test_where_a_kernel_is_written(text: str, line: int | None) -> None:
    assert written_kernel(text) == line


@given(st.text(st.sampled_from("'\"@jit.n\\\nf{} ="), max_size=60))
def test_any_text_has_a_line_or_none(text: str) -> None:
    line = written_kernel(text)
    assert line is None or 1 <= line <= text.count("\n") + 1


def refused(text: str, name: str | None) -> str:
    with pytest.raises(SourceError) as caught:
        choose_kernel(find_kernels("/w/k.py", text), "/w/k.py", text, name)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_a_file_that_only_writes_kernels() -> None:
    said = refused("import triton\nTEXT = '''\n@triton.jit\ndef k(x): pass\n'''\n", None)
    assert said.startswith("/w/k.py holds no @triton.jit kernel of its own: it generates one while it runs (line 3)")


def test_a_name_that_is_in_no_source() -> None:
    text = "import triton\n@triton.jit\ndef helper(x): return x\nTEXT = '''\n@triton.jit\ndef added_kernel(x): pass\n'''\n"
    assert "it has helper, and generates another while it runs (line 5)" in refused(text, "added_kernel")
    assert "did you mean helper?" in refused(text, "helperr")

"""An edit changes its own bytes only, whatever the file's encoding, line ends, tabs and comments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.source import Workspace, between, find_program, make_patch, unified_diff
from kernelband.source.encoding import decode
from kernelband.source.model import Edit

SOURCE = '''# coding: {coding}
"""Größe, naïve: é ü ß."""
import triton
import triton.language as tl
\x0c
@triton.jit  # größer
def scale(x_ptr, n, BLOCK: tl.constexpr):  # a comment
\tpid = tl.program_id(0)   \t
\t# ünder the kernel
\ttl.store(x_ptr + pid, n)

def höst(x):
\tname = "é";  BLOCK   =   128 # keep me
\tif x is not None: scale[ (1,) ]( x , 4,   BLOCK = BLOCK , num_warps=4 )  # é before
'''
FORMS = {
    "utf-8": ("utf-8", "\n", b""),
    "crlf": ("utf-8", "\r\n", b""),
    "cr": ("utf-8", "\r", b""),
    "byte order mark": ("utf-8", "\n", b"\xef\xbb\xbf"),
    "mark and crlf": ("utf-8", "\r\n", b"\xef\xbb\xbf"),
    "latin-1": ("latin-1", "\n", b""),
    "cp1252 crlf": ("cp1252", "\r\n", b""),
}


@pytest.mark.parametrize(("coding", "end", "mark"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("last", ["\n", ""], ids=["newline at the end", "none"])
def test_an_edit_keeps_every_other_byte(tmp_path: Path, coding: str, end: str, mark: bytes, last: str) -> None:
    raw = mark + (SOURCE.format(coding=coding).rstrip("\n") + last).replace("\n", end).encode(coding)
    path = tmp_path / "k.py"
    path.write_bytes(raw)
    space = Workspace.for_file(str(path))
    program = find_program(space, str(path))
    (launch,) = program.launches
    (block,) = launch.assignments
    edits = [Edit(block.value.span, "256"), Edit(launch.options["num_warps"].span, "8")]
    patch = make_patch(program.texts, {str(path): edits})
    after = space.encode(str(path), patch.apply(program.texts)[str(path)])
    assert after == raw.replace(b"=   128", b"=   256").replace(b"num_warps=4", b"num_warps=8")
    assert (program.kernel.place.qualname, launch.host and launch.host.qualname) == ("scale", "höst")
    assert [p.name for p in program.kernel.parameters] == ["x_ptr", "n", "BLOCK"]


@pytest.mark.parametrize(("coding", "end", "mark"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("last", ["\n", ""], ids=["newline at the end", "none"])
def test_git_applies_the_diff_to_the_very_bytes(tmp_path: Path, coding: str, end: str, mark: bytes, last: str) -> None:
    raw = mark + (SOURCE.format(coding=coding).rstrip("\n") + last).replace("\n", end).encode(coding)
    path = tmp_path / "a b" / "k.py"
    path.parent.mkdir()
    path.write_bytes(raw)
    space = Workspace([str(tmp_path)])
    program = find_program(space, str(path))
    (launch,) = program.launches
    edits = [Edit(program.kernel.parameters[1].span, "size"), Edit(launch.call, "(x, 1)"), Edit(launch.assignments[0].value.span, "1")]
    patch = make_patch(program.texts, {str(path): edits})
    text = unified_diff(program.texts, patch, str(tmp_path), marked=space.marked(program.texts))
    done = subprocess.run(
        ["git", "apply", "--verbose", "-"], cwd=tmp_path, input=text.encode(coding), capture_output=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr.decode() + text
    assert path.read_bytes() == space.encoding(str(path)).encode(patch.apply(program.texts)[str(path)], "k.py")


@pytest.mark.parametrize("name", ['q"uote.py', "back\\slash.py", "ünïcode.py", "tab\there.py"])
def test_odd_file_names_in_a_diff(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("x = 1\n")
    texts = {str(path): "x = 1\n"}
    patch = between(texts, {str(path): "x = 2\n"})
    text = unified_diff(texts, patch, str(tmp_path))
    done = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=text.encode(), capture_output=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr.decode() + text
    assert path.read_text() == "x = 2\n"


def test_an_empty_patch_has_an_empty_diff() -> None:
    assert unified_diff({"/w/a.py": "x"}, make_patch({"/w/a.py": "x"}, {"/w/a.py": []}), "/w") == ""


@given(st.binary(max_size=60))
def test_bytes_come_back_or_are_refused(data: bytes) -> None:
    try:
        text, encoding = decode(data, "k.py")
    except SourceError:
        return
    assert encoding.encode(text, "k.py") == data


@given(st.text(max_size=40))
def test_utf8_text_comes_back(text: str) -> None:
    data = text.encode("utf-8", "ignore")
    if b"\0" not in data and "coding" not in text:
        read, encoding = decode(data, "k.py")
        assert encoding.encode(read, "k.py") == data


@pytest.mark.parametrize(
    "data", [b"# coding: nonsense\n", b"\xff\xfe", b"# coding: ascii\nx = '\xe9'\n", b"\xef\xbb\xbf# coding: latin-1\n"]
)
def test_text_that_python_would_not_read(data: bytes) -> None:
    with pytest.raises(SourceError, match=r"k\.py isn't text"):
        decode(data, "k.py")


def test_a_character_that_the_encoding_has_not(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_bytes(b"# coding: latin-1\nx = 1\n")
    with pytest.raises(SourceError, match="declares the encoding iso-8859-1, which hasn't the character '€'"):
        Workspace([str(tmp_path)]).encode(str(path), "x = '€'\n")

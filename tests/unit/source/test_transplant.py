"""A variant in the text at hand: where it still belongs, byte for byte, and refused with a reason where it doesn't."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.errors import StaleText
from kernelband.source import between, form, make_patch, program_in, transplant
from kernelband.source.form import reading
from kernelband.source.model import Edit, HostFunction, Patch, Place, Program, Span

PATH = "/nowhere/scale.py"
BASE = '''"""Scales."""

import torch
import triton
import triton.language as tl

WARPS = 4
OTHER = 1


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Twice each element.

      Indented by hand. \x20
    """
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, twice(x), mask=at < n)


class Scaler:
    factor = 2

    def run(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64, num_warps=WARPS)
        return y


def unrelated(a):
    return a + 1
'''
FASTER = BASE.replace("BLOCK=64", "BLOCK=1024").replace("cdiv(n, 64)", "cdiv(n, 1024)")
WIDER = FASTER.replace("at < n)\n    tl.store", "at < n, other=0.0)\n    tl.store")


def find(path: str = PATH, kernel: str = "scale_kernel"):
    def found(texts: Mapping[str, str]) -> Program:
        return program_in(texts, path if path in texts else next(iter(texts)), kernel)

    return found


def variant(text: str = WIDER) -> Patch:
    return between({PATH: BASE}, {PATH: text})


def placed(current: str, patch: Patch | None = None) -> str:
    texts = {PATH: current}
    return transplant(patch or variant(), {PATH: BASE}, texts, find(), run="run 1a2b3c4d").apply(texts)[PATH]


def test_the_same_text_takes_the_same_patch() -> None:
    assert transplant(variant(), {PATH: BASE}, {PATH: BASE}, find()) == variant()


def test_what_changes_elsewhere_shifts_the_edits_and_stays() -> None:
    elsewhere = "# mine  \r\n" + BASE.replace("return a + 1", "return a - 1  # \u00e9\U0001f600").replace(
        "OTHER = 1", "import os\nOTHER = 2"
    )
    assert placed(elsewhere) == elsewhere.replace("cdiv(n, 64)", "cdiv(n, 1024)").replace("BLOCK=64", "BLOCK=1024").replace(
        "at < n)\n    tl.store", "at < n, other=0.0)\n    tl.store"
    )


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("x * 2", "x * 3", "twice"),
        ("tl.arange(0, BLOCK)", "tl.arange(0, 2 * BLOCK)", "scale_kernel"),
        ("y = torch.empty_like(x)", "y = torch.zeros_like(x)", "Scaler.run"),
    ],
)
def test_a_function_that_changed_is_named(old: str, new: str, names: str) -> None:
    with pytest.raises(StaleText) as refused:
        placed(BASE.replace(old, new))
    assert refused.value.message == f"{names} in scale.py has changed since run 1a2b3c4d: verify it again."


@pytest.mark.parametrize(("was", "now"), [("\n", "\r\n"), ("\r\n", "\n"), ("\n", "\r")])
def test_a_checkout_with_other_line_ends_is_the_same_text(was: str, now: str) -> None:
    base, wider, current = BASE.replace("\n", was), WIDER.replace("\n", was), BASE.replace("\n", now)
    patch = transplant(between({PATH: base}, {PATH: wider}), {PATH: base}, {PATH: current}, find())
    assert patch.apply({PATH: current})[PATH] == WIDER.replace("\n", now)


def test_where_line_ends_are_mixed_functions_go_in_as_a_whole() -> None:
    current = BASE.replace("\n", "\r\n", 30)
    after = placed(current)
    assert is_one(after, WIDER)
    assert after.startswith('"""Scales."""\r\n\r\nimport torch\r\n')


def is_one(text: str, other: str) -> bool:
    """Whether two texts are one program."""
    return form(find()({PATH: text})) == form(find()({PATH: other}))


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("    x = tl.load(", "    # the row\n    x = tl.load(", "# the row"),  # beside what is edited
        ("tl.program_id(0) * BLOCK + tl", "( tl.program_id( 0 )*BLOCK )+tl", "( tl.program_id( 0 )*BLOCK )"),
        ("mask=at < n)\n    tl.store", "mask=(at < n))  # the row\n    tl.store", ""),  # in it: the function goes in as it was verified
        ("Twice each element.", "Twice.", "Twice."),
        (
            "x, y, n, BLOCK=64, num_warps=WARPS)",
            "x,\n            y,\n            n,\n            BLOCK=64,\n            num_warps=WARPS)",
            "",
        ),
    ],
)
def test_comments_and_formatting_void_nothing(old: str, new: str, kept: str) -> None:
    assert old in BASE
    after = placed(BASE.replace(old, new))
    assert is_one(after, WIDER)
    assert kept in after


HOST = """import torch
SCALE = 2
COUNT = 3


class Op:
    def run(self, x):
        said = f'''
at the left margin'''
        times = COUNT

        def again():
            nonlocal times
            times -= 1

        return x * SCALE
"""


@pytest.mark.parametrize("begin", ["def run", "def again"])
def test_a_piece_that_is_no_program_by_itself_reads_all_that_it_names(begin: str) -> None:
    start = HOST.index(begin)
    end = HOST.index("\n\n        return") if begin == "def again" else len(HOST)
    own = HostFunction(Place("/nowhere/op.py", "Op.run"), "method", Span(start, end), ())
    kernel = find()({PATH: BASE}).kernel
    read = reading(Program(kernel, (), (own,), {PATH: BASE, "/nowhere/op.py": HOST})).read
    assert {name for path, name in read if path != PATH} == ({"SCALE", "COUNT"} if begin == "def run" else set())


def test_a_global_that_the_program_reads_counts_and_another_one_does_not() -> None:
    assert "BLOCK=1024" in placed(BASE.replace("OTHER = 1", "OTHER = 7"))
    with pytest.raises(StaleText, match=r"^WARPS, which"):
        placed(BASE.replace("WARPS = 4", "WARPS = 8"))


@pytest.mark.parametrize("line", ["x = torch.ones(3)", "at = 7", "y: int = 3", "self = None"])
def test_a_global_with_the_name_of_a_local_does_not_count(line: str) -> None:
    assert placed(f"{BASE}\n{line}\n") == f"{WIDER}\n{line}\n"


LOOP = "x, y, n = torch.ones(64), torch.ones(64), 64\nfor _ in range(3):\n    scale_kernel[(1,)](x, y, n, BLOCK=64)\n\n\n"
SCRIPT = BASE.replace("class Scaler:", LOOP + "class Scaler:")


def test_a_launch_at_the_top_level_counts_with_what_it_reads() -> None:
    patch = between({PATH: SCRIPT}, {PATH: SCRIPT.replace("x, y, n, BLOCK=64)", "x, y, n, BLOCK=128)")})

    def put(current: str) -> str:
        return transplant(patch, {PATH: SCRIPT}, {PATH: current}, find(), run="run 1a2b3c4d").apply({PATH: current})[PATH]

    moved = SCRIPT.replace("OTHER = 1", "OTHER = 2\nprint(OTHER)")
    assert put(moved) == moved.replace("x, y, n, BLOCK=64)", "x, y, n, BLOCK=128)")
    with pytest.raises(StaleText, match="the top level"):
        put(SCRIPT.replace("range(3)", "range(4)"))
    with pytest.raises(StaleText, match=r"^n, which"):
        put(SCRIPT.replace("torch.ones(64), 64", "torch.ones(64), 65"))


def test_a_function_that_is_gone_and_one_that_came_are_named() -> None:
    with pytest.raises(StaleText, match=r"Scaler.run in scale.py is gone"):
        placed(BASE.replace("def run", "def go"))
    more = BASE + "\n\ndef second(x, y):\n    scale_kernel[(1,)](x, y, 64, BLOCK=64)\n"
    with pytest.raises(StaleText, match=r"^second in"):
        placed(more)
    with pytest.raises(StaleText, match="no kernel scale_kernel"):
        placed(BASE.replace("def scale_kernel", "def other_kernel").replace("scale_kernel[", "other_kernel["))


def test_text_that_does_not_parse_is_refused() -> None:
    with pytest.raises(StaleText, match=r"syntax error in line"):
        placed(BASE + "\ndef half(\n")


def test_an_edit_of_an_import_or_a_global_moves_with_it() -> None:
    patch = variant(FASTER.replace("import torch\n", "import math\nimport torch\n").replace("OTHER = 1", "OTHER = 1\nMORE = 2"))
    moved = placed("# first\n" + BASE.replace("WARPS = 4", "WARPS = 4\n\n# a remark"), patch)
    assert moved.startswith('# first\n"""Scales."""\n\nimport math\nimport torch\n')
    assert "# a remark\nOTHER = 1\nMORE = 2\n" in moved
    assert "OTHER = 3\nMORE = 2\n" in placed(BASE.replace("OTHER = 1", "OTHER = 3"), patch)
    with pytest.raises(StaleText, match=r"^scale\.py has changed since run 1a2b3c4d where the variant edits it: verify it again\.$"):
        placed(BASE.replace("import torch", "import torch  # mine"), variant(FASTER.replace("import torch\n", "import torch as th\n")))


def test_a_name_that_the_variant_brings_and_the_text_has_by_now_is_refused() -> None:
    """By lines it would fit, and launch with 3 warps what was verified with 2."""
    brings = BASE.replace("OTHER = 1", "OTHER = 1\nMORE = 2").replace("num_warps=WARPS", "num_warps=MORE")
    assert is_one(placed("import os\n" + BASE, variant(brings)), brings)
    with pytest.raises(StaleText, match=r"^The text around scale_kernel has changed since run 1a2b3c4d"):
        placed(BASE + "\nMORE = 3\n", variant(brings))


def test_a_new_function_between_two_others_moves_with_the_first() -> None:
    at = BASE.index("    return x * 2") + len("    return x * 2")
    patch = make_patch({PATH: BASE}, {PATH: [Edit(Span(at + 2, at + 2), "\ndef added():\n    pass\n\n")]})
    assert "def added()" in placed("import os\n" + BASE, patch)
    with pytest.raises(StaleText, match=r"scale\.py has changed"):
        placed(BASE.replace("    return x * 2\n\n\n", "    return x * 2\n\n# a word\n\n"), patch)


def test_edits_before_the_first_statement_stay_in_front_of_it() -> None:
    base = "# a header\nimport triton\n" + BASE.partition("import triton\n")[2].replace("torch.", "triton.")
    patch = make_patch({PATH: base}, {PATH: [Edit(Span(0, 0), "# noqa\n")]})
    texts = {PATH: base + "\n\nclass More: ...\n"}
    assert transplant(patch, {PATH: base}, texts, find()).apply(texts)[PATH].startswith("# noqa\n# a header\n")


def test_a_byte_order_mark_of_the_text_at_hand_counts_as_a_character() -> None:
    current = "\ufeff" + BASE
    assert placed(current) == "\ufeff" + WIDER


def test_a_copy_under_another_name_takes_it() -> None:
    current = {"/elsewhere/copy.py": "# a copy\n" + BASE}
    moved = transplant(variant(), {PATH: BASE}, current, find())
    assert moved.apply(current) == {"/elsewhere/copy.py": "# a copy\n" + WIDER}


def test_hosts_in_other_files_count_and_move(tmp_path: Path) -> None:
    kernel, host = str(tmp_path / "kernel.py"), str(tmp_path / "host.py")
    head, _, tail = BASE.partition("class Scaler")
    base = {kernel: head, host: "import torch\nimport triton\nfrom kernel import scale_kernel, WARPS\n\n\nclass Scaler" + tail}
    assert {h.place.path for h in program_in(base, kernel, "scale_kernel").hosts} == {host}
    after = {p: t.replace("BLOCK=64", "BLOCK=1024").replace("cdiv(n, 64)", "cdiv(n, 1024)") for p, t in base.items()}
    patch = between(base, after)
    moved = transplant(patch, base, {**base, host: "import os\n" + base[host]}, find(kernel))
    assert [f.path for f in moved.files] == [host]
    assert moved.apply({host: "import os\n" + base[host]}) == {host: "import os\n" + after[host]}
    with pytest.raises(StaleText, match=r"^Scaler\.run in host"):
        transplant(patch, base, {kernel: head}, find(kernel))


# ---------------------------------------------------------------- properties

LINES = BASE.split("\n")
FUNCTIONS = ("twice", "scale_kernel", "run")


def inner_lines() -> tuple[frozenset[int], frozenset[int]]:
    """Numbers of lines before which nothing may be put without changing a function or a statement; and those inside the program."""
    tree = ast.parse(BASE)
    busy, own = set[int](), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            busy |= set(range(node.lineno, node.end_lineno or 0))  # 0-based: before any line after the first
        if isinstance(node, ast.FunctionDef) and node.name in FUNCTIONS:
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            busy |= set(range(start, node.end_lineno or 0))
            own |= set(range(start, (node.end_lineno or 0) - 1))
    return frozenset(busy), frozenset(own)


BUSY, OWN = inner_lines()
FREE = sorted(set(range(len(LINES))) - BUSY)
REMARKS = st.sampled_from(
    ["", "# a remark", "zz = 1", "def zz():\n    return 3", "import zzz", "# \u2028 \f \x85 \U0001f600", "if zz:\n\tpass"]
)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(FREE), REMARKS), max_size=8))
def test_lines_put_outside_functions_keep_it_placeable(added: list[tuple[int, str]]) -> None:
    lines = list(LINES)
    for at, text in sorted(added, key=lambda x: -x[0]):
        lines.insert(at, text)
    current = "\n".join(lines)
    after = placed(current)
    old, new = ast.parse(current), ast.parse(after)
    names = [n.name for n in ast.walk(old) if isinstance(n, ast.FunctionDef)]
    assert names == [n.name for n in ast.walk(new) if isinstance(n, ast.FunctionDef)]
    edited = {n.name: ast.dump(n) for n in ast.walk(ast.parse(WIDER)) if isinstance(n, ast.FunctionDef)}
    for node in ast.walk(new):
        if isinstance(node, ast.FunctionDef) and node.name in edited:
            assert ast.dump(node) == edited[node.name]
    rest = difflines(current, after)
    assert all(any(word in x for word in ("BLOCK=64", "cdiv", "tl.load")) for x in rest)


def difflines(old: str, new: str) -> list[str]:
    """The lines that differ; both texts have the same number."""
    return [a for a, b in zip(old.split("\n"), new.split("\n"), strict=True) if a != b]


@settings(max_examples=50)
@given(st.sampled_from(sorted(OWN)), st.sampled_from(["# a remark", "    pass", "    zz = 1"]))
def test_lines_put_into_the_program_are_refused_where_they_mean_something(at: int, text: str) -> None:
    lines = list(LINES)
    lines.insert(at + 1, text)
    current = "\n".join(lines)
    if is_one(current, BASE):
        assert is_one(placed(current), WIDER)
    else:
        with pytest.raises(StaleText):
            placed(current)

"""Kernels that calls make, and launches of kernels that come out of tables, attributes, calls and objects around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.source import Workspace, find_kernels, find_program
from kernelband.source.model import Kernel, Program
from tests.unit.source.conftest import FIXTURES

PATH = str(FIXTURES / "kept.py")
HEAD = "import triton\nimport triton.language as tl\n"
BODY = "def f(x, B: tl.constexpr): pass\n"


@pytest.fixture(scope="module")
def kernels() -> dict[str, Kernel]:
    return {k.place.qualname: k for k in find_kernels(PATH, Path(PATH).read_text())}


def program(name: str) -> Program:
    return find_program(Workspace([str(FIXTURES)]), PATH, name)


def hosts(name: str) -> dict[str, int]:
    """The host functions with how often each launches the kernel."""
    found = program(name)
    return {h.place.qualname: sum(x.kernel == found.kernel.place for x in h.launches) for h in found.hosts}


# ---------------------------------------------------------------- made by calls


def test_functions_that_calls_make_kernels_of_are_kernels_in_source_order(kernels: dict[str, Kernel]) -> None:
    assert list(kernels) == ["_halve", "negate_body", "add_kernel", "mul_kernel", "Op.built.<locals>.local_kernel"]


def test_what_is_called_around_them_counts_as_decorators(kernels: dict[str, Kernel]) -> None:
    halve, negate = kernels["_halve"], kernels["negate_body"]
    assert ([d.text.partition("(")[0] for d in halve.decorators], halve.heuristics, halve.autotuned) == (
        ["triton.heuristics", "triton.jit"],
        ("LARGE",),
        False,
    )
    assert ([c.constants["BLOCK"].text for c in negate.configs], negate.autotuned) == (["64", "256"], True)
    text = Path(PATH).read_text()
    assert [text[d.span.start : d.span.end] for d in halve.decorators] == [d.text for d in halve.decorators]


def test_their_span_is_the_function(kernels: dict[str, Kernel]) -> None:
    text = Path(PATH).read_text()
    span = kernels["negate_body"].span
    assert text[span.start : span.end].startswith("def negate_body(")
    assert text[span.start : span.end].endswith("mask=offsets < n)")
    assert [p.name for p in kernels["negate_body"].parameters if p.constexpr] == ["BLOCK"]


@pytest.mark.parametrize(
    "made",
    [
        "f = triton.jit(f)",
        "k = triton.jit(f)",
        "k = triton.jit(fn=f)",
        "k = triton.jit(f, noinline=True)",
        "k = triton.jit(noinline=True)(f)",
        "k = triton.autotune(configs=[], key=[])(triton.jit(f))",
        "KERNELS = {'f': triton.jit(f)}",
        "KERNELS = [triton.jit(f)]",
        "triton.jit(f)[(1,)](x, 4)",
        "class A:\n    def __init__(self):\n        self.k = triton.jit(f)",
        "def make():\n    return triton.jit(f)",
        "import functools\njit = functools.partial(triton.jit, noinline=True)\nk = jit(f)",
        "from triton import jit as fast_jit\nk = fast_jit(f)",
        "@triton.jit\ndef other(y): pass\nk = triton.jit(f) if other else None",
    ],
)
def test_every_way_to_call_jit(made: str) -> None:
    names = [k.place.qualname for k in find_kernels("/w/a.py", HEAD + BODY + made + "\n")]
    assert [n for n in names if n != "other"] == ["f"]


@pytest.mark.parametrize(
    "text",
    [
        "k = triton.jit()",
        "k = triton.jit(lambda x: x)",
        "k = triton.jit(missing)",
        "k = numba.jit(f)",
        "k = triton.jit(f, ",
        "# triton.jit(f)",
        "text = 'triton.jit(f)'",
        "import numba as triton\nk = triton.jit(f)",
    ],
)
def test_other_calls_make_none(text: str) -> None:
    head = HEAD.replace("import triton\n", "") if "as triton" in text else HEAD
    assert find_kernels("/w/a.py", head + BODY + text + "\n") == ()


def test_a_function_in_a_factory_that_is_given_to_jit() -> None:
    text = HEAD + "def make(n):\n    def inner(x): pass\n    return triton.jit(inner)\n"
    assert [k.place.qualname for k in find_kernels("/w/a.py", text)] == ["make.<locals>.inner"]


def test_of_two_functions_of_a_name_the_last_one_before_the_call() -> None:
    text = HEAD + "def f(x): pass\ndef f(x, y): pass\nf = triton.jit(f)\ndef f(x, y, z): pass\n"
    (kernel,) = find_kernels("/w/a.py", text)
    assert [p.name for p in kernel.parameters] == ["x", "y"]


# ---------------------------------------------------------------- launched through something


def test_launches_of_made_kernels_by_the_names_that_keep_them() -> None:
    assert hosts("_halve") == {"halve_in_place": 1}
    assert hosts("negate_body") == {"negate_in_place": 1}
    assert program("_halve").handed_on == ()


def test_launches_out_of_tables_attributes_calls_and_entries() -> None:
    assert hosts("mul_kernel") == {
        "from_table": 1,
        "from_table_by_get": 1,
        "from_table_by_name": 1,
        "from_filled": 1,
        "from_list": 1,
        "from_nested": 1,
        "from_comprehension": 1,
        "looped_over": 1,
        "looped_over_items": 1,
        "looped_over_pairs": 1,
        "through_entry": 2,
        "inside_entry": 2,
        "by_parameter": 1,
        "run_of_entry": 1,
        "Job.run": 1,
        "Op.by_method": 1,
        "Op.by_property": 1,
        "Op.by_base": 1,
    }


def test_each_table_holds_its_own_kernels() -> None:
    assert hosts("add_kernel") == {
        "from_table": 1,
        "from_table_by_get": 1,
        "from_table_by_name": 1,
        "from_nested": 1,
        "from_comprehension": 1,
        "looped_over_items": 1,
        "looped_over_pairs": 1,
        "by_parameter": 1,
        "Op.by_class_table": 1,
    }
    assert hosts("Op.built.<locals>.local_kernel") == {"Op.by_local": 1}


def test_what_is_passed_is_read_as_for_any_launch() -> None:
    found = {h.place.qualname: h.launches for h in program("mul_kernel").hosts}
    for name in ("from_nested", "inside_entry", "run_of_entry", "Job.run"):
        launch = found[name][0]
        assert {k: e.text for k, e in launch.arguments.items()} == {"x_ptr": "x", "n": "4", "BLOCK": "16"}, name
        assert launch.grid is not None
        assert launch.grid.text == "(1,)", name


@pytest.mark.parametrize(
    ("made", "name"),
    [
        ("@triton.jit\n" + BODY + "fast = triton.autotune(configs=[], key=[])(f)\n", "fast"),
        ("from lib import Entry\n@triton.jit\n" + BODY + "fast = Entry(f)\nfaster = Entry(fast)\n", "faster"),
        (BODY + "fast = triton.jit(f)\n", "fast"),
        (BODY + "f = triton.jit(f)\n", "f"),
    ],
)
def test_another_file_launches_it_by_the_name_that_keeps_it(made: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "kern.py").write_text(HEAD + made)
    (tmp_path / "host.py").write_text(f"from kern import {name} as chosen\ndef host(x):\n    chosen[(1,)](x, 4)\n")
    (tmp_path / "more.py").write_text(f"import kern\ndef more(x):\n    kern.{name}[(1,)](x, 4)\n")
    found = find_program(Workspace([str(tmp_path)]), str(tmp_path / "kern.py"), "f")
    assert [(Path(h.place.path).name, h.place.qualname) for h in found.hosts] == [("host.py", "host"), ("more.py", "more")]


def test_names_that_keep_each_other_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "kern.py").write_text(HEAD + "@triton.jit\n" + BODY + "a = wrap(b)\nb = wrap(a)\nc = wrap(c)\n")
    (tmp_path / "host.py").write_text("from kern import a, b, c, f\ndef host(x):\n    a[(1,)](x, 4)\n    c[(1,)](x, 4)\n")
    assert find_program(Workspace([str(tmp_path)]), str(tmp_path / "kern.py"), "f").hosts == ()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (BODY + "k = triton.jit(f)\ndef host(x):\n    k[(1,)](x, 4)\n", []),
        (BODY + "k = triton.jit(f)\nTABLE = [k]\n", [5]),
        (BODY + "k = triton.jit(f)\ny = f(1, 2)\n", [5]),
        (BODY + "TABLE = [triton.jit(f)]\n", [4]),
        ("@triton.jit\n" + BODY + "k = triton.autotune(configs=[], key=[])(f)\ndef host(x):\n    k[(1,)](x, 4)\n", [5]),
    ],
)
def test_a_made_kernel_that_is_only_launched_is_handed_to_nobody(text: str, lines: list[int], tmp_path: Path) -> None:
    (tmp_path / "kern.py").write_text(HEAD + text)
    found = find_program(Workspace([str(tmp_path)]), str(tmp_path / "kern.py"), "f")
    assert [line for _, line in found.handed_on] == lines


def test_a_projects_own_tuner_makes_a_kernel_tuned() -> None:
    text = HEAD + "from lib import tuner, listed\n@tuner(configs=listed('f'), key=['n'])\n@triton.jit\n" + BODY
    (kernel,) = find_kernels("/w/a.py", text)
    assert (kernel.autotuned, kernel.configs) == (True, ())

"""A kernel's program: who launches it, with what, and what that depends on; in one file and over a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.errors import SourceError
from kernelband.source import Workspace, choose_kernel, find_kernels, find_program
from kernelband.source.model import HostFunction, Launch, Program
from tests.unit.source.conftest import FIXTURES

PATH = str(FIXTURES / "launches.py")
PROJECT = FIXTURES / "project"


@pytest.fixture(scope="module")
def program() -> Program:
    return find_program(Workspace([str(FIXTURES)]), PATH, "scale_kernel")


def host(program: Program, name: str) -> HostFunction:
    return next(h for h in program.hosts if h.place.qualname == name)


def only(program: Program, name: str) -> Launch:
    (launch,) = host(program, name).launches
    return launch


def said(launch: Launch) -> dict[str, str]:
    return {k: e.text for k, e in launch.arguments.items()}


def chain(launch: Launch) -> list[tuple[str, str]]:
    return [(a.name, a.value.text) for a in launch.assignments]


KINDS = {
    "<module>": "module",
    "lambda_grid": "function",
    "closure.<locals>.launch": "function",
    "Scale.forward": "forward",
    "Scale.backward": "backward",
    "Module.forward": "method",
    "Module.chosen_one": "method",
    "Module.static": "static_method",
    "Module.of_class": "class_method",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_kinds_of_hosts(program: Program, name: str, kind: str) -> None:
    assert host(program, name).kind == kind


def test_hosts_in_source_order_and_no_others(program: Program) -> None:
    assert [h.place.qualname for h in program.hosts] == [
        "<module>",
        "lambda_grid",
        "tuple_grid",
        "def_grid",
        "unpacked",
        "filled",
        "run_method",
        "warmed",
        "aliased",
        "launcher",
        "partly",
        "wrapped",
        "unwrapped",
        "looped",
        "closure.<locals>.launch",
        "from_factory",
        "several",
        "start",
        "Starter.launch",
        "Scale.forward",
        "Scale.backward",
        "Module.forward",
        "Module.chosen_one",
        "Module.static",
        "Module.of_class",
    ]


def test_spans_of_hosts_and_launches(program: Program) -> None:
    text = program.texts[PATH]
    forward = host(program, "Scale.forward")
    assert text[forward.span.start : forward.span.end].startswith("@staticmethod\n    def forward")
    launch = only(program, "lambda_grid")
    assert text[launch.span.start : launch.span.end] == "scale_kernel[grid](x, y, n, 2.0, BLOCK=BLOCK, num_warps=WARPS)"
    assert text[launch.call.start : launch.call.end] == "(x, y, n, 2.0, BLOCK=BLOCK, num_warps=WARPS)"
    assert launch.line == text[: launch.span.start].count("\n") + 1
    for h in program.hosts:
        for x in h.launches:
            for e in [*x.arguments.values(), *x.options.values(), *([x.grid] if x.grid else []), *(a.value for a in x.assignments)]:
                assert text[e.span.start : e.span.end] == e.text


def test_grid_by_lambda_with_the_chain_behind_it(program: Program) -> None:
    launch = only(program, "lambda_grid")
    assert launch.grid is not None
    assert launch.grid.text == "grid"
    assert said(launch) == {"x_ptr": "x", "y_ptr": "y", "n": "n", "factor": "2.0", "BLOCK": "BLOCK"}
    assert {k: e.text for k, e in launch.options.items()} == {"num_warps": "WARPS"}
    assert chain(launch) == [
        ("WARPS", "8"),
        ("n", "x.numel()"),
        ("BLOCK", "1024"),
        ("grid", 'lambda META: (triton.cdiv(n, META["BLOCK"]),)'),
    ]


def test_tuple_grid_and_every_assignment_of_a_variable(program: Program) -> None:
    zero, launch = host(program, "tuple_grid").launches
    assert zero.kernel.qualname == "zero_kernel"
    assert launch.grid is not None
    assert launch.grid.text == "(rows, blocks)"
    assert launch.grid.names == ("rows", "blocks")
    assert said(launch)["ACT"] == "relu"
    assert launch.options["num_warps"].names == ("BLOCK",)
    assert chain(launch) == [
        ("columns", "x.shape"),
        ("rows", "x.shape"),
        ("BLOCK", "triton.next_power_of_2(columns)"),
        ("BLOCK", "4096"),
        ("blocks", "triton.cdiv(columns, BLOCK)"),
    ]


def test_a_nested_function_as_grid(program: Program) -> None:
    (n, grid) = only(program, "def_grid").assignments
    assert (n.name, n.value.text) == ("n", "x.numel()")
    assert grid.name == "grid"
    assert grid.value.text.startswith("def grid(meta):")
    assert grid.value.names == ("triton", "n")


def test_unpacked_options_are_read_from_their_dict(program: Program) -> None:
    launch = only(program, "unpacked")
    assert said(launch) == {"n": "4", "factor": "1.0", "BLOCK": "128"}
    assert {k: e.text for k, e in launch.options.items()} == {"num_warps": "2"}
    assert [a.name for a in launch.assignments] == ["options", "arguments"]


def test_options_set_one_by_one(program: Program) -> None:
    launch = only(program, "filled")
    assert (launch.arguments["BLOCK"].text, launch.options["num_warps"].text) == ("BLOCK", "2")
    assert chain(launch) == [("BLOCK", "256")]


def test_run_and_warmup_forms(program: Program) -> None:
    run = only(program, "run_method")
    assert (run.form, run.grid and run.grid.text, run.options) == ("run", "(1,)", {})
    warmup, compiled = host(program, "warmed").launches
    assert (warmup.form, compiled.form) == ("warmup", "compiled")
    assert {k: e.text for k, e in warmup.options.items()} == {"num_stages": "2", "num_warps": "8"}
    assert compiled.grid is not None
    assert compiled.grid.text == "(programs, 1, 1)"
    assert said(compiled)["num_stages"] == "2"
    assert chain(compiled) == [("rows", "x.shape[0]"), ("programs", "min(rows, 108)")]


def test_aliases_partials_wrappers_and_factories(program: Program) -> None:
    assert [x.kernel.qualname for x in host(program, "aliased").launches] == ["scale_kernel", "zero_kernel"]
    assert only(program, "launcher").grid is not None
    for name in ("partly", "wrapped", "unwrapped", "from_factory"):
        assert said(only(program, name)) == {"x_ptr": "x", "y_ptr": "y", "n": "4", "factor": "2.0", "BLOCK": "16"}, name


def test_a_variable_with_several_kernels_and_kernels_passed_as_arguments(program: Program) -> None:
    assert {x.kernel.qualname for x in host(program, "several").launches} == {"scale_kernel", "zero_kernel"}
    assert {x.kernel.qualname for x in host(program, "start").launches} == {"scale_kernel", "zero_kernel"}
    assert only(program, "Starter.launch").arguments["BLOCK"].text == "16"


def test_a_loop_brings_in_its_variable_and_what_it_changes(program: Program) -> None:
    assert chain(only(program, "looped")) == [("size", "1"), ("block", "(16, 32)"), ("size", "size * 2")]


def test_a_closure_reads_the_function_around_it(program: Program) -> None:
    assert chain(only(program, "closure.<locals>.launch")) == [("BLOCK", "8"), ("grid", "(n,)")]


def test_a_jit_function_passed_as_argument_is_a_helper(program: Program) -> None:
    assert [h.place.qualname for h in program.helpers] == ["relu"]


def test_launches_of_the_kernel_only(program: Program) -> None:
    assert {x.kernel for x in program.launches} == {program.kernel.place}


# ---------------------------------------------------------------- over files


def test_hosts_and_helpers_in_other_files() -> None:
    kernels = PROJECT / "ops" / "kernels.py"
    found = find_program(Workspace([str(PROJECT)], scripts=[str(kernels)]), str(kernels))
    here = [(Path(h.place.path).relative_to(PROJECT).as_posix(), h.place.qualname, len(h.launches)) for h in found.hosts]
    assert here == [
        ("ops/launcher.py", "by_name", 1),
        ("ops/launcher.py", "by_module", 1),
        ("main.py", "whole_path", 1),
        ("tests/bench_add.py", "bench", 2),
    ]
    assert [h.place.qualname for h in found.helpers] == ["plus", "twice", "doubled"]
    assert found.kernel.helpers == tuple(h.place for h in found.helpers)
    assert {Path(p).name for p in found.texts} == {"kernels.py", "math.py", "shared.py", "launcher.py", "main.py", "bench_add.py"}


def helpers(folder: Path, texts: dict[str, str]) -> list[tuple[str, str]]:
    """File and name of what the kernel of ``k.py`` calls, with these files in a folder."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    found = find_program(Workspace([str(folder)]), str(folder / "k.py"))
    return [(Path(h.place.path).name, h.place.qualname) for h in found.helpers]


def test_a_star_brings_what_no_line_names(tmp_path: Path) -> None:
    """A module's own name goes before one of its stars."""
    texts = {
        "ops/__init__.py": "from .one import *\nfrom .two import twice\n",
        "ops/one.py": "import triton\n@triton.jit\ndef plus(x): return x + 1\n@triton.jit\ndef twice(x): return x\n",
        "ops/two.py": "import triton\n@triton.jit\ndef twice(x): return x * 2\n",
        "k.py": "import ops, triton\n@triton.jit\ndef k(x): return ops.plus(x) + ops.twice(x)\n",
    }
    assert helpers(tmp_path, texts) == [("one.py", "plus"), ("two.py", "twice")]


def test_a_module_of_a_package_needs_no_line_in_it(tmp_path: Path) -> None:
    texts = {
        "ops/__init__.py": "",
        "ops/one.py": "import triton\n@triton.jit\ndef plus(x): return x + 1\n",
        "k.py": "import ops, triton\n@triton.jit\ndef k(x): return ops.one.plus(x)\n",
    }
    assert helpers(tmp_path, texts) == [("one.py", "plus")]
    assert helpers(tmp_path, texts | {"k.py": texts["k.py"].replace("import ops", "import ops as o").replace(" ops.one", " o.one")}) == [
        ("one.py", "plus")
    ]


def test_names_that_lead_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    texts = {
        "a.py": "from b import f\nfrom b import *\n",
        "b.py": "from a import f\nfrom a import *\n",
        "k.py": "import triton\nfrom a import f, g\n@triton.jit\ndef k(x): return f(x) + g(x)\n",
    }
    assert helpers(tmp_path, texts) == []


def test_an_overlay_is_what_is_read(tmp_path: Path) -> None:
    kernel = tmp_path / "k.py"
    kernel.write_text("import triton\n@triton.jit\ndef k(x, B): pass\n")
    (tmp_path / "host.py").write_text("x = 1\n")
    overlays = {
        str(tmp_path / "host.py"): "from k import k\ndef h(x):\n    k[(1,)](x, 2)\n",
        str(tmp_path / "new.py"): "import k\nk.k[(2,)](1, 3)\n",
    }
    program = find_program(Workspace.for_file(str(kernel), overlays), str(kernel))
    assert [(Path(h.place.path).name, h.place.qualname) for h in program.hosts] == [("host.py", "h"), ("new.py", "<module>")]


def test_a_broken_or_binary_neighbour_is_no_hindrance(tmp_path: Path) -> None:
    kernel = tmp_path / "kern.py"
    kernel.write_text("import triton\n@triton.jit\ndef my_kernel(x, B): pass\n")
    (tmp_path / "broken.py").write_text("from kern import my_kernel\ndef h(x):\n    my_kernel[(1,)](x, 2)\n    y = (\n\ndef g(:\n")
    (tmp_path / "binary.py").write_bytes(b"my_kernel\0\xff\xfe")
    (tmp_path / "latin.py").write_bytes(b"# my_kernel \xe9\n")
    (tmp_path / "dir.py").mkdir()
    program = find_program(Workspace.for_file(str(kernel)), str(kernel))
    assert [(Path(h.place.path).name, h.place.qualname) for h in program.hosts] == [("broken.py", "h")]


def test_environments_and_hidden_folders_are_not_searched(tmp_path: Path) -> None:
    kernel = tmp_path / "kern.py"
    kernel.write_text("import triton\n@triton.jit\ndef my_kernel(x, B): pass\n")
    launch = "from kern import my_kernel\nmy_kernel[(1,)](1, 2)\n"
    for folder in (".hidden", "node_modules", "lib/site-packages", "own_env", "fine"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text(launch)
    (tmp_path / "own_env" / "pyvenv.cfg").write_text("")
    program = find_program(Workspace.for_file(str(kernel)), str(kernel))
    assert [Path(h.place.path).parent.name for h in program.hosts] == ["fine"]


def test_a_kernel_that_nothing_launches_has_no_hosts(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("import triton\n@triton.jit\ndef k(x): pass\n")
    assert find_program(Workspace.for_file(str(tmp_path / "k.py")), str(tmp_path / "k.py")).hosts == ()


# ---------------------------------------------------------------- which kernel


def error(tmp_path: Path, text: str, name: str | None = None) -> str:
    path = tmp_path / "k.py"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        find_program(Workspace.for_file(str(path)), str(path), name)
    message = caught.value.message.replace(str(tmp_path) + "/", "")
    assert "\n" not in message
    return message


TWO = "import triton\n@triton.jit\ndef add(x): pass\n@triton.jit\ndef sub(x): pass\n"


def test_no_kernel(tmp_path: Path) -> None:
    assert error(tmp_path, "x = 1\n") == "There is no @triton.jit kernel in k.py: name a file that defines one."
    assert error(tmp_path, "from triton.experimental import gluon\n@gluon.jit\ndef f(x): pass\n").startswith("k.py has Gluon kernels only")


def test_several_and_none_named(tmp_path: Path) -> None:
    assert error(tmp_path, TWO) == "k.py has 2 kernels (add, sub): name one, as in k.py::add."


def test_helpers_alone_do_not_make_it_several(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("import triton\n@triton.jit\ndef act(x): return x\n@triton.jit\ndef main(x): act(x)\n")
    assert find_program(Workspace.for_file(str(path)), str(path)).kernel.place.qualname == "main"


def test_no_kernel_of_that_name(tmp_path: Path) -> None:
    assert error(tmp_path, TWO, "addd") == "There is no kernel addd in k.py: did you mean add?"
    assert error(tmp_path, TWO, "zzz") == "There is no kernel zzz in k.py: it has add, sub."


def test_a_nested_kernel_by_its_last_name() -> None:
    text = "import triton\nclass A:\n    @triton.jit\n    def k(x): pass\n@triton.jit\ndef other(x): pass\n"
    assert choose_kernel(find_kernels("/w/k.py", text), "/w/k.py", text, "k").place.qualname == "A.k"


def test_one_name_twice(tmp_path: Path) -> None:
    text = "import triton\nif x:\n    @triton.jit\n    def k(x): pass\nelse:\n    @triton.jit\n    def k(x): pass\n"
    assert error(tmp_path, text, "k") == "k.py has 2 kernels called k (lines 4, 7): rename one."

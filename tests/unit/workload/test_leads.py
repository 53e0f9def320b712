"""A kernel's entry over the ways in which people connect things, in packages of several files."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kernelband.source import Workspace, find_program
from kernelband.workload import choose

SCALE = """
import torch, triton
import triton.language as tl

@triton.jit
def scale_kernel(x, n, BLOCK: tl.constexpr):
    pass

def launch_scale(x):
    scale_kernel[(1,)](x, 3, BLOCK=64)
    return x
"""
AUTOGRAD = """
import torch
from .scale import launch_scale

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return launch_scale(x)
"""
OTHER = "\ndef test_other():\n    assert 1\n"

#: name: (files of the package, the test file, the entries that lead to the kernel, best first)
WAYS: dict[str, tuple[dict[str, str], str, list[tuple[str, str]]]] = {
    "a wrapper in another module": (
        {"api.py": "from .scale import launch_scale\n\ndef scaled(x):\n    return launch_scale(x)\n"},
        "from pack.api import scaled\n\ndef test_it():\n    scaled(1)\n",
        [("pytest_or_call", "test_it")],
    ),
    "apply of a class behind a function": (
        {"grad.py": AUTOGRAD, "api.py": "from pack.grad import Scale\n\ndef scaled(x):\n    return Scale.apply(x)\n"},
        "import pack.api as api\n\ndef test_it():\n    api.scaled(1)\n",
        [("callable", "test_it")],
    ),
    "an alias of apply": (
        {"grad.py": AUTOGRAD + "\nscaled = Scale.apply\n"},
        "from pack.grad import scaled as run\n\ndef test_it():\n    run(1)\n",
        [("callable", "test_it")],
    ),
    "a name that a package passes on": (
        {
            "__init__.py": "from .api import (\n    scaled,  # public\n)\n",
            "api.py": "from .scale import *\n\ndef scaled(x):\n    return launch_scale(x)\n",
        },
        "import pack\n\ndef test_it():\n    pack.scaled(1)\n",
        [("callable", "test_it")],
    ),
    "everything that a package passes on": (
        {"__init__.py": "from .ops import *\n", "ops.py": "from .scale import launch_scale\n"},
        "import pack\n\ndef test_it():\n    pack.launch_scale(1)\n",
        [("callable", "test_it")],
    ),
    "a module's forward": (
        {
            "grad.py": AUTOGRAD,
            "layer.py": "import torch\nfrom .grad import Scale\n\n"
            "class ScaleLayer(torch.nn.Module):\n    def forward(self, x):\n        return Scale.apply(x)\n",
        },
        "from pack.layer import ScaleLayer\n\ndef test_it():\n    layer = ScaleLayer()\n    layer(1)\n",
        [("callable", "test_it")],
    ),
    "a dict": (
        {"table.py": "from .scale import launch_scale\n\nKNOWN = {'scale': launch_scale}\n\ndef get(name):\n    return KNOWN[name]\n"},
        "from pack.table import get\n\ndef test_it():\n    get('scale')(1)\n",
        [("callable", "test_it")],
    ),
    "a register by decorator": (
        {
            "table.py": "from .scale import launch_scale\nfrom .names import register\n\n"
            "@register('double')\ndef _two(x):\n    return launch_scale(x)\n"
        },
        "from pack.names import find\n\ndef test_it():\n    find('double')(1)\n",
        [("callable", "test_it")],
    ),
    "a custom operator": (
        {
            "op.py": "import torch\nfrom .scale import launch_scale\n\n"
            "@torch.library.custom_op('pack::double', mutates_args=())\ndef _two(x):\n    return launch_scale(x)\n"
        },
        "import torch\nimport pack.op\n\ndef test_it():\n    torch.ops.pack.double(1)\n",
        [("callable", "test_it")],
    ),
    "an implementation in a library": (
        {
            "op.py": "import torch\nfrom .scale import launch_scale\n\n"
            "lib = torch.library.Library('aten', 'IMPL')\nlib.impl('mul.Scalar', launch_scale, 'CUDA')\n"
        },
        "import torch\nimport pack.op\n\ndef test_it():\n    torch.mul(1, 2)\n",
        [("callable", "test_it")],
    ),
    "an operator that a helper defines, asked for by a layer": (
        {
            "names.py": "import torch\n\nlib = torch.library.Library('packs', 'FRAGMENT')\n\n"
            "def direct(name, f):\n    lib.define(name)\n    lib.impl(name, f, 'CUDA')\n",
            "op.py": "from .names import direct\nfrom .scale import launch_scale\n\n"
            "def _two(x):\n    return launch_scale(x)\n\ndirect('double', _two)\n",
            "layer.py": "import torch\nimport pack.op\n\n"
            "class Double:\n    def forward(self, x):\n        return torch.ops.packs.double(x)\n",
        },
        "from pack.layer import Double\n\ndef test_it():\n    Double().forward(1)\n",
        [("callable", "test_it")],
    ),
    "a fixture": (
        {},
        "import pytest\nfrom pack.scale import launch_scale\n\n"
        "@pytest.fixture\ndef op():\n    return launch_scale\n\n"
        "def test_it(op):\n    op(1)\n",
        [("pytest", "test_it")],
    ),
    "a parameter": (
        {},
        "import pytest\nfrom pack.scale import launch_scale\n\n@pytest.mark.parametrize('f', [launch_scale])\ndef test_it(f):\n    f(1)\n",
        [("pytest", "test_it")],
    ),
    "a class with a helper": (
        {},
        "from pack.scale import launch_scale\n\n"
        "class TestScale:\n    def run(self):\n        launch_scale(1)\n\n"
        "    def test_not(self):\n        pass\n\n"
        "    def test_it(self):\n        self.run()\n",
        [("pytest", "TestScale::test_it")],
    ),
    "a TestCase that sets up": (
        {},
        "import unittest\nfrom pack.scale import launch_scale\n\n"
        "class Scales(unittest.TestCase):\n    def setUp(self):\n        self.f = launch_scale\n\n"
        "    def test_it(self):\n        self.f(1)\n",
        [("pytest", "Scales::test_it")],
    ),
}


def choice(folder: Path, files: dict[str, str], *, kernel: str = SCALE) -> list[tuple[str, str, str]]:
    (folder / "pyproject.toml").write_text("")
    for name, text in {"pack/__init__.py": "", "pack/scale.py": kernel, **files}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(textwrap.dedent(text))
    path = str(folder / "pack" / "scale.py")
    workspace = Workspace.for_file(path)
    found = choose(workspace, find_program(workspace, path), None)
    return [(str(Path(e["path"]).relative_to(folder)), e["kind"], e["name"]) for e in (found.entry, *found.others)]


@pytest.mark.parametrize("way", WAYS)
def test_ways_from_a_test_to_the_kernel(tmp_path: Path, way: str) -> None:
    package, test, entries = WAYS[way]
    files = {f"pack/{name}": text for name, text in package.items()} | {"tests/test_all.py": test + OTHER}
    expected = [("tests/test_all.py", "callable" if kind == "pytest_or_call" else kind, name) for kind, name in entries]
    assert choice(tmp_path, files) == expected


def test_the_file_that_is_called_like_the_module_is_first(tmp_path: Path) -> None:
    test = "from pack.scale import launch_scale\n\ndef test_{}():\n    launch_scale(1)\n"
    files = {f"tests/test_{name}.py": test.format(name) for name in ("all", "scale", "scale_more")}
    assert [name for _, _, name in choice(tmp_path, files)] == ["test_scale", "test_scale_more", "test_all"]


def test_what_is_skipped_or_over_processes_is_last(tmp_path: Path) -> None:
    test = """
    import pytest
    from pack.scale import launch_scale

    @pytest.mark.skip(reason="slow")
    def test_slow():
        launch_scale(1)

    def test_quick():
        launch_scale(1)
    """
    assert [name for _, _, name in choice(tmp_path, {"tests/test_all.py": test})] == ["test_quick", "test_slow"]


def test_a_test_that_goes_back_shows_a_backward_kernel(tmp_path: Path) -> None:
    kernel = SCALE.replace("launch_scale", "scale_backward").replace("scale_kernel", "scale_bwd_kernel")
    test = "from pack.scale import scale_backward as f\n\ndef test_a():\n    f(1)\n\ndef test_b():\n    f(1).backward()\n"
    assert [name for _, _, name in choice(tmp_path, {"tests/test_all.py": test}, kernel=kernel)] == ["test_b", "test_a"]


def test_wanting_gradients_is_not_going_back(tmp_path: Path) -> None:
    kernel = SCALE.replace("launch_scale", "scale_backward").replace("scale_kernel", "scale_bwd_kernel")
    bodies = {"test_a": "torch.no_grad()", "test_b": "x.requires_grad_()", "test_c": "x.requires_grad_().grad.sum()"}
    test = "from pack.scale import scale_backward as f\n" + "".join(f"\ndef {name}():\n    f({body})\n" for name, body in bodies.items())
    assert [name for _, _, name in choice(tmp_path, {"tests/test_all.py": test}, kernel=kernel)] == ["test_c", "test_b", "test_a"]


def test_a_script_only_where_nothing_else_is(tmp_path: Path) -> None:
    main = "\nif __name__ == '__main__':\n    launch_scale(1)\n"
    script = "import argparse\nfrom pack.scale import launch_scale\n" + main
    assert choice(tmp_path, {"examples/run.py": script}) == [("examples/run.py", "script", "__main__")]
    test = "from pack.scale import launch_scale\n\ndef test_it():\n    launch_scale(1)\n"
    assert choice(tmp_path, {"tests/test_x.py": test}) == [("tests/test_x.py", "callable", "test_it")]


def test_text_in_strings_and_comments_is_no_test(tmp_path: Path) -> None:
    text = (
        "from pack.scale import launch_scale\n\n"
        "TEXT = '''\ndef test_no():\n    launch_scale(1)\n'''\n# def test_never():\n\n"
        "def test_yes():\n    launch_scale(2)\n"
    )
    assert [name for _, _, name in choice(tmp_path, {"tests/test_x.py": text})] == ["test_yes"]


def test_a_long_table_leads_on_in_a_test_but_not_in_a_package(tmp_path: Path) -> None:
    rows = "".join(f"    ('f{i}', print),\n" for i in range(40))
    table = f"from pack.scale import launch_scale\n\nALL = [\n    ('scale', launch_scale),\n{rows}]\n"
    asking = "from pack.table import ALL\n\ndef test_all_of_it():\n    ALL[0][1](1)\n"
    testing = f"import pytest\n{table}\n@pytest.mark.parametrize('name, f', ALL)\ndef test_it(name, f):\n    f(1)\n"
    files = {"pack/table.py": table, "tests/test_asking.py": asking, "tests/test_testing.py": testing}
    assert choice(tmp_path, files) == [("tests/test_testing.py", "pytest", "test_it")]

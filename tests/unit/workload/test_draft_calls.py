"""What a draft calls, where it stands, and what a person says instead of a guess."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.unit.workload.drafting import COPY, HEAD, LAUNCH, code, commented, drafted, of_text

from kernelband.errors import SourceError, UsageError, WorkloadError
from kernelband.source import Workspace, find_program
from kernelband.workload import choose_entry


def test_the_nearest_public_function_is_called(tmp_path: Path) -> None:
    host = f"def _launch(x):\n{LAUNCH}\ndef scale(x):\n    _launch(x)\n\ndef far(x):\n    return scale(x)\n"
    draft = of_text(tmp_path, COPY + host)
    assert (draft.called, draft.entry, draft.others) == ("scale", "bench_scale", ("_launch",))


def test_an_autograd_function_is_applied(tmp_path: Path) -> None:
    text = f"{COPY}class ScaleFunction(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, alpha):\n"
    text += textwrap.indent(LAUNCH, "    ") + "        return y\n"
    draft = of_text(tmp_path, text)
    assert (draft.called, draft.entry) == ("ScaleFunction.apply", "bench_scale")
    assert code(draft)[-1] == "ScaleFunction.apply(x, alpha)"
    assert "from ops import ScaleFunction\n" in draft.text


def test_a_kernel_of_the_backward_pass_is_reached_by_going_back(tmp_path: Path) -> None:
    back = textwrap.indent(LAUNCH.replace("(x)", "(dy)").replace("(x, y, x", "(dy, y, dy"), "    ")
    text = f"{COPY}class Scale(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.clone()\n\n"
    draft = of_text(tmp_path, f"{text}    @staticmethod\n    def backward(ctx, dy):\n{back}        return y\n")
    assert code(draft)[-2:] == ["out = Scale.apply(x)", "out.backward(torch.randn_like(out))"]
    assert "requires_grad=True" in next(line for line in code(draft) if line.startswith("x ="))


def test_a_static_method_is_called_by_its_class(tmp_path: Path) -> None:
    draft = of_text(tmp_path, f"{COPY}class Ops:\n    @staticmethod\n    def scale(x):\n{textwrap.indent(LAUNCH, '    ')}")
    assert (draft.called, draft.entry) == ("Ops.scale", "bench_scale")


def test_a_method_gets_an_object(tmp_path: Path) -> None:
    text = f"{COPY}class Scaler:\n    def __init__(self, width):\n        self.width = width\n\n"
    text += "    def run(self, x):\n        assert x.shape == (4, self.width)\n"
    draft = of_text(tmp_path, text + textwrap.indent(LAUNCH, "    "))
    assert code(draft)[-2:] == ["module = Scaler(width)", "module.run(x)"]
    assert 'x = torch.randn(4, width, device="cuda", dtype=dtype)' in code(draft)


def test_a_kernel_in_another_file_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(HEAD + COPY)
    (package / "api.py").write_text(f"import torch\nfrom .kernels import copy_kernel\n\ndef scale(x):\n{LAUNCH}")
    draft = drafted(package / "kernels.py")
    assert draft.path == str(package / "bench_api.py")
    assert "from pack.api import scale\n" in draft.text
    (package / "bench_api.py").write_text(draft.text)
    workspace = Workspace.for_file(str(package / "kernels.py"))
    found = choose_entry(workspace, find_program(workspace, str(package / "kernels.py")), None)
    assert (found["path"], found["name"]) == (draft.path, "bench_scale")


def test_a_file_that_no_import_can_name_gets_the_entry_itself(tmp_path: Path) -> None:
    path = tmp_path / "01-scale.py"
    path.write_text(f"{HEAD}{COPY}def scale(x):\n{LAUNCH}\ndef bench_scale(n):\n    pass\n")
    draft = drafted(path)
    assert (draft.path, draft.appended, draft.entry) == (str(path), True, "bench_scale_2")
    assert "import" not in draft.text, "torch is there already"
    with pytest.raises(SourceError, match="leave --out away"):
        drafted(path, out=str(tmp_path / "bench_it.py"))


REFUSED: dict[str, tuple[str, str]] = {
    "nothing launches it, and it has two axes": (
        COPY.replace("copy_kernel", "square_kernel").replace("tl.program_id(0) * BLOCK", "tl.program_id(1) * BLOCK + tl.program_id(0)"),
        "No code was found that launches square_kernel, and its grid can't be told from the kernel alone",
    ),
    "another kernel calls it": (
        "@triton.jit\ndef outer_kernel(x, n):\n    copy_kernel(x, x, n, 64)\n",
        "No code was found that launches copy_kernel",
    ),
    "only a test does": ("def test_it():\n    copy_kernel[(1,)](x, y, 3, BLOCK=64)\n", "launched in test_it only"),
    "only a function that is handed out": (
        "def make(y):\n    def inner(x):\n        copy_kernel[(1,)](x, y, 3, BLOCK=64)\n    return inner\n",
        "so there is no function for an entry to call",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_too_far_is_refused_in_a_sentence(tmp_path: Path, case: str) -> None:
    text, said = REFUSED[case]
    with pytest.raises(WorkloadError, match=said):
        of_text(tmp_path, COPY + text, "square_kernel" if "square_kernel" in text else "copy_kernel")


# ------------------------------------------------------------ what a person says


def test_answers_take_the_place_of_guesses(tmp_path: Path) -> None:
    text = f"{COPY}def scale(x, thing, eps):\n    M, N = x.shape\n{LAUNCH}"
    draft = of_text(tmp_path, text, M="12", dtype="bfloat16", thing="[x, 3]", eps="1e-3")
    assert code(draft) == [
        "M, N = 12, 4096",
        "dtype = torch.bfloat16",
        'x = torch.randn(M, N, device="cuda", dtype=dtype)',
        "thing = [x, 3]",
        "eps = 1e-3",
        "scale(x, thing, eps)",
    ]
    assert commented(draft, "thing") == commented(draft, "dtype") == ""


def test_an_answer_for_a_number_that_is_no_size_of_a_tensor_is_written(tmp_path: Path) -> None:
    draft = of_text(tmp_path, f"{COPY}def scale(x, block: int):\n{LAUNCH}", block="64")
    assert "block = 64" in code(draft)
    assert "block" not in {g.name for g in draft.guesses}


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"y": "3"}, "y is nothing that was guessed"),
        ({"thing": "3 +"}, "no Python"),
        ({"dtype": "double64"}, "no dtype"),
        ({"M": "many"}, "M"),
    ],
)
def test_answers_that_make_no_sense(tmp_path: Path, answers: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        of_text(tmp_path, f"{COPY}def scale(x, thing):\n    M, N = x.shape\n{LAUNCH}", **answers)

"""Which entry is run, read from text alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.errors import WorkloadError
from kernelband.source import Workspace, find_program
from kernelband.workload import choose_entry, choose_proof, find_entries
from kernelband.workload.permission import as_environment

KERNEL = """
import pytest, torch, triton
import triton.language as tl

@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    pass

def add(x):
    add_kernel[(1,)](x, x, 3, BLOCK=64)

class Adder:
    @staticmethod
    def apply(x):
        add_kernel[(1,)](x, x, 3, BLOCK=64)
"""


def write(folder: Path, **files: str) -> tuple[Workspace, object, str]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    path = str(folder / "kernel.py")
    workspace = Workspace.for_file(path)
    return workspace, find_program(workspace, path), path


def test_a_test_before_a_benchmark_unless_a_gpu_measures(tmp_path: Path) -> None:
    workspace, program, _ = write(tmp_path, kernel=KERNEL + "\ndef bench():\n    add(1)\n\ndef test_add():\n    add(1)\n")
    assert choose_entry(workspace, program, None)["name"] == "test_add"
    measured = choose_entry(workspace, program, None, measured=True)
    assert measured["name"] == "bench"
    assert choose_proof(workspace, program, measured)["name"] == "test_add"


@pytest.mark.parametrize(("file", "first"), [("bench_add", "bench"), ("run_benchmark", "bench"), ("bench_attention", "test_add")])
def test_a_benchmark_of_something_else_comes_after_the_kernels_own_test(tmp_path: Path, file: str, first: str) -> None:
    uses = "from kernel import add\n\n\ndef "
    texts = {"kernel": KERNEL, file: f"{uses}bench():\n    add(1)\n", "test_add": f"{uses}test_add():\n    add(1)\n"}
    workspace, program, _ = write(tmp_path, **texts)
    assert choose_entry(workspace, program, None, measured=True)["name"] == first
    assert choose_entry(workspace, program, None)["name"] == "test_add"


def test_what_its_own_file_calls_with_arguments_is_less_likely_a_test(tmp_path: Path) -> None:
    text = "\ndef test_add(args):\n    add(args)\n\ndef test_it(x):\n    add(x)\n\nif __name__ == '__main__':\n    test_add(1)\n"
    workspace, program, _ = write(tmp_path, kernel=KERNEL + text)
    assert choose_entry(workspace, program, None)["name"] == "test_it"


def test_only_what_leads_to_the_kernel_counts(tmp_path: Path) -> None:
    text = KERNEL + "\ndef helper():\n    return Adder.apply(1)\n\ndef test_other():\n    assert 1\n\ndef test_it():\n    helper()\n"
    workspace, program, _ = write(tmp_path, kernel=text)
    assert {f.entry["name"]: f.reaches for f in find_entries(workspace, program)} == {"test_other": False, "test_it": True}
    assert choose_entry(workspace, program, None)["name"] == "test_it"


CALLED = """
import triton
import triton.language as tl
@triton.jit
def twice(x):
    return x + x
@triton.jit
def spare(x):
    return x
"""


def test_what_only_kernels_call_is_said_with_them(tmp_path: Path) -> None:
    calls = KERNEL.replace("    pass\n", "    tl.store(x, twice(tl.load(x)))\n", 1)
    write(tmp_path, kernel="from called import twice\n" + calls, called=CALLED)
    path = str(tmp_path / "called.py")
    workspace = Workspace.for_file(path)
    with pytest.raises(WorkloadError, match=r"launches twice: add_kernel \(kernel\.py\) calls it, so optimize that one"):
        choose_entry(workspace, find_program(workspace, path, "twice"), None)
    with pytest.raises(WorkloadError, match="launches spare, and no kernel calls it"):
        choose_entry(workspace, find_program(workspace, path, "spare"), None)


def test_what_only_kernels_call_is_refused_although_tests_lead_to_it(tmp_path: Path) -> None:
    calls = KERNEL.replace("    pass\n", "    tl.store(x, twice(tl.load(x)))\n", 1)
    text = f"{CALLED}\n{calls}\ndef test_add():\n    add(1)\n"
    path = tmp_path / "kernel.py"
    path.write_text(text)
    workspace = Workspace.for_file(str(path))
    with pytest.raises(WorkloadError, match=r"launches twice: add_kernel \(kernel\.py\) calls it"):
        choose_entry(workspace, find_program(workspace, str(path), "twice"), None)
    path.write_text(f"{text}\nTABLE = [twice]\n")  # which may be launched from there
    workspace = Workspace.for_file(str(path))
    assert choose_entry(workspace, find_program(workspace, str(path), "twice"), None)["name"] == "test_add"


def test_a_copy_that_a_test_has_is_named_where_no_test_leads_to_the_kernel(tmp_path: Path) -> None:
    copied = KERNEL.partition("def add(")[0] + "\ndef test_add():\n    add_kernel[(1,)](1, 1, 3, BLOCK=64)\n"
    workspace, program, path = write(tmp_path, kernel=KERNEL, test_copy=copied)
    with pytest.raises(
        WorkloadError, match=rf"runs add_kernel of {path}; {tmp_path}/test_copy\.py \(line \d\) has another one of that name"
    ):
        choose_entry(workspace, program, None)


def test_parameters_make_it_a_pytest_node(tmp_path: Path) -> None:
    parametrized = '@pytest.mark.parametrize("n", [1, 2])\ndef test_add(n):\n    add(n)\n'
    text = f"{KERNEL}\n{parametrized}\nclass TestAdd:\n    def test_one(self):\n        add(1)\n"
    workspace, program, _ = write(tmp_path, kernel=text)
    assert [f.entry["kind"] for f in find_entries(workspace, program)] == ["pytest", "pytest"]
    assert choose_entry(workspace, program, "test_add[1]")["name"] == "test_add[1]"
    assert choose_entry(workspace, program, "TestAdd::test_one")["kind"] == "pytest"


@pytest.mark.parametrize(
    "nearest",
    [
        "@pytest.mark.vector_add\ndef test_of_the_second_kind():\n    vector_add(1)\n",
        "def test_vectoradd():\n    vector_add(1)\n",
        "@pytest.mark.vector_add\nclass TestIt:\n    def test_of_the_second_kind(self):\n        vector_add(1)\n",
    ],
)
def test_a_mark_and_words_written_as_one_say_what_is_tested(tmp_path: Path, nearest: str) -> None:
    kernel = KERNEL.replace("def add(", "def vector_add(")
    others = "".join(f"{mark}\ndef test_{name}_add():\n    vector_add(1)\n" for name, mark in (("tall", "@pytest.mark.slow"), ("wide", "")))
    imports = "import pytest\nfrom kernel import vector_add\n"
    workspace, program, _ = write(
        tmp_path, kernel=kernel, test_all=f"{imports}\n{others}\n{nearest}\n{others.replace('_add()', '_add_too()')}"
    )
    first = find_entries(workspace, program)[0].entry["name"]
    assert first in ("test_of_the_second_kind", "test_vectoradd", "TestIt::test_of_the_second_kind")


def test_a_test_file_beside_the_kernel(tmp_path: Path) -> None:
    workspace, program, _ = write(
        tmp_path, kernel=KERNEL, test_kernel="from kernel import add\n\ndef test_it():\n    add(1)\n", test_none="def test_x(): pass\n"
    )
    entry = choose_entry(workspace, program, None)
    assert (Path(entry["path"]).name, entry["name"], entry["module"]) == ("test_kernel.py", "test_it", "test_kernel")


def test_a_named_file_and_the_main_script(tmp_path: Path) -> None:
    workspace, program, path = write(tmp_path, kernel=KERNEL, bench_it="from kernel import add\n\ndef bench_add():\n    add(1)\n")
    assert choose_entry(workspace, program, f"{tmp_path}/bench_it.py::bench_add")["kind"] == "callable"
    assert choose_entry(workspace, program, f"{tmp_path}/bench_it.py")["name"] == "bench_add"
    assert choose_entry(workspace, program, f"{path}::__main__")["kind"] == "script"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (None, "Write a test, or a function without arguments"),
        ("gone.py::x", "doesn't exist"),
        ("bench_ad", "Did you mean bench_add?"),
        ("kernel.py::nothing_here", "no nothing_here"),
    ],
)
def test_one_sentence_when_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str | None, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    extra = "\ndef bench_add(n=1):\n    add(n)\n" if named == "bench_ad" else ""
    workspace, program, _ = write(tmp_path, kernel=KERNEL + extra)
    with pytest.raises(WorkloadError, match=said):
        choose_entry(workspace, program, named)


def test_a_report_is_run_where_there_is_no_test(tmp_path: Path) -> None:
    text = (
        KERNEL + "\n@triton.testing.perf_report([])\ndef sweep(n, provider):\n    add(n)\nif __name__ == '__main__':\n    sweep.run(add)\n"
    )
    workspace, program, _ = write(tmp_path, kernel=text)
    assert choose_entry(workspace, program, None)["name"] == "sweep"
    assert choose_entry(workspace, program, "sweep")["kind"] == "callable"
    workspace, program, _ = write(tmp_path, kernel=text + "\ndef test_add():\n    add(1)\n")
    assert choose_entry(workspace, program, None)["name"] == "test_add"


def test_a_notebook_without_tests_is_run(tmp_path: Path) -> None:
    path = tmp_path / "demo.ipynb"
    workspace = Workspace.for_file(str(path), {str(path): KERNEL + "\nadd(1)\n"})
    program = find_program(workspace, str(path))
    assert choose_entry(workspace, program, None) == {"kind": "script", "module": "demo_ipynb", "path": str(path), "name": "__main__"}
    assert choose_entry(workspace, program, f"{path}::add")["name"] == "add"
    with pytest.raises(WorkloadError, match="another notebook than the kernel's"):
        choose_entry(workspace, program, "other.ipynb::add")


def test_what_is_in_a_folder_that_is_not_trusted_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / ".git").mkdir()
    elsewhere = tmp_path / "tests" / "test_kernel.py"
    elsewhere.write_text("from kernel import add\n\ndef test_add():\n    add(1)\n")
    workspace, program, _ = write(tmp_path, kernel=KERNEL)
    assert choose_entry(workspace, program, None)["path"] == str(elsewhere)

    def say(*words: dict[str, bool]) -> None:
        for name, value in as_environment(words).items():
            monkeypatch.setenv(name, value)

    say({str(tmp_path): True}, {str(tmp_path.parent): False})  # the editor's word counts before the list's for a folder above
    assert choose_entry(workspace, program, None)["path"] == str(elsewhere)
    say({str(tmp_path / "tests"): False}, {str(tmp_path / "tests"): True})  # the list gives nothing that the editor takes
    assert find_entries(workspace, program) == ()
    for words in ({str(tmp_path): True}, {str(tmp_path / "tests"): False}), ({str(tmp_path): True, str(tmp_path / "tests"): False},):
        say(*words)  # but may take away, for a folder that is nearer
        assert find_entries(workspace, program) == ()
    with pytest.raises(WorkloadError, match=r"in a trusted folder .*tests.test_kernel\.py isn't in one"):
        choose_entry(workspace, program, None)
    with pytest.raises(WorkloadError, match=r"Nothing is run in .*tests, because that folder isn't trusted"):
        choose_entry(workspace, program, f"{elsewhere}::test_add")
    (tmp_path / "bench.py").write_text("from kernel import add\n\ndef bench():\n    add(1)\n")
    assert choose_entry(workspace, program, None)["name"] == "bench"
    assert choose_proof(workspace, program, choose_entry(workspace, program, None))["name"] == "bench"

"""`kernelband kernels` in a process of its own: files, and whole folders with what is broken in them. Nothing of them runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelband.source.encoding import MAX_FILE_BYTES
from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.test_bad_input import refused

#: Leaves a file when it is imported.
TRAP = "open({path!r}, 'w').close()\n"
OTHER = """import triton
import triton.language as tl
from triton import jit as compiled


class Ops:
    @compiled
    def other_kernel(x, n, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 0.0)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """scale.py beside a package with a second kernel, a file that is broken in its middle, and two that can't be read."""
    home = Home(tmp_path, sys.executable)
    (home.work / "pkg" / "deep").mkdir(parents=True)
    trap = TRAP.format(path=str(tmp_path / "run"))
    (home.work / "pkg" / "deep" / "other.py").write_text(OTHER + trap)
    (home.work / "pkg" / "broken.py").write_text(trap + KERNEL.replace("scale", "broken").replace("return y", "return ) y"))
    (home.work / "pkg" / "bytes.py").write_bytes(b"# a triton jit \xff\n")
    (home.work / "pkg" / "huge.py").write_text(KERNEL + "#" * MAX_FILE_BYTES)
    (home.work / "pkg" / "plain.py").write_text(trap)
    return home


def as_json(home: Home, *arguments: str) -> list[dict[str, Any]]:
    done = home.run("kernels", *arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_folder(home: Home) -> None:
    before = home.snapshot()
    done = home.run("kernels", ".")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        f"{home.file}:7  scale_kernel(x, y, n, BLOCK)",
        f"{home.work / 'pkg' / 'broken.py'}:8  broken_kernel(x, y, n, BLOCK)",
        f"{home.work / 'pkg' / 'deep' / 'other.py'}:8  Ops.other_kernel(x, n, BLOCK)",
    ]
    bytes_, huge = done.err.splitlines()
    assert bytes_.startswith(f"{home.work / 'pkg' / 'bytes.py'} isn't text that Python can read: ")
    assert huge.startswith(f"{home.work / 'pkg' / 'huge.py'} has 4,000,")
    assert not (home.work.parent / "run").exists()
    assert home.snapshot() == before, "so few files aren't worth keeping"


def test_a_folder_as_json_has_the_keys_of_a_file(home: Home) -> None:
    found = {k["kernel"]: k for k in as_json(home, "pkg", "scale.py")}
    assert [*found] == ["broken_kernel", "Ops.other_kernel", "scale_kernel"]
    assert {k: v for k, v in found["Ops.other_kernel"].items() if v is not None} == {
        "path": str(home.work / "pkg" / "deep" / "other.py"),
        "line": 8,
        "kernel": "Ops.other_kernel",
        "parameters": ["x", "n", "BLOCK"],
        "constexprs": ["BLOCK"],
    }
    assert [*found["Ops.other_kernel"]] == [*found["scale_kernel"]]
    assert found["scale_kernel"]["hosts"] == [{"name": "scale", "path": str(home.file), "kind": "function", "line": 16}]
    assert [k["kernel"] for k in as_json(home, ".::other_kernel", "pkg::broken_kernel")] == ["Ops.other_kernel", "broken_kernel"]
    unsaved = home.work.parent / "unsaved.py"
    unsaved.write_text(KERNEL.replace("scale", "unsaved"))
    assert [k["kernel"] for k in as_json(home, "pkg", "--overlay", f"pkg/bytes.py={unsaved}")] == [
        "broken_kernel",
        "Ops.other_kernel",
        "unsaved_kernel",
    ]


def test_configurations_are_counted_or_said_to_be_unknown(home: Home) -> None:
    tuned = "@triton.autotune(configs={configs}, key=['n'])\n@triton.jit"
    made = "[triton.Config({'BLOCK': b}, num_warps=w) for b in [32, 64, 128] for w in (2, 4)]"
    for configs, count, said in [
        (made, 6, "6 configurations"),
        ("[triton.Config({'BLOCK': 64})]", 1, "1 configuration"),
        ("get_configs()", None, "an unknown number of configurations"),
    ]:
        home.file.write_text(KERNEL.replace("@triton.jit", tuned.replace("{configs}", configs)))
        assert home.run("kernels", "scale.py").out.splitlines()[0].endswith(f"  [autotuned over {said}]")
        (found,) = as_json(home, "scale.py")
        assert (found["autotuned"], found["configs"]) == (True, count)


def test_many_files_are_remembered_and_changes_are_seen(home: Home) -> None:
    for number in range(150):
        (home.work / f"module_{number}.py").write_text(OTHER.replace("other", f"other_{number}"))
    first = as_json(home, ".")
    assert len(first) == 153
    assert as_json(home, ".") == first
    (kept,) = (home.home / ".cache" / "kernelband" / "kernels").iterdir()
    kept.write_text(kept.read_text().replace('"Ops.other_7_kernel"', '"Ops.remembered"'))
    assert [k["kernel"] for k in as_json(home, ".::remembered")] == ["Ops.remembered"], "no file is read again that is as it was"
    changed = home.work / "module_7.py"
    changed.write_text(OTHER.replace("other", "another"))
    os.utime(changed, (1, 1))  # older than what is kept
    assert [k["kernel"] for k in as_json(home, ".::another_kernel")] == ["Ops.another_kernel"]


def test_a_large_file_is_refused(home: Home) -> None:
    huge = home.work / "pkg" / "huge.py"
    said = "more than the 4,000,000 that are read of one file: move its kernels into a smaller one."
    done = refused(home, 3, str(huge), said, run=lambda: home.run("kernels", "pkg/huge.py"))
    assert len(done.err.splitlines()) == 1
    refused(home, 3, str(home.file), said, run=lambda: home.run("kernels", "scale.py", "--overlay", f"scale.py={huge}"))


def test_what_can_not_be_read_does_not_stop_the_others(home: Home) -> None:
    done = home.run("kernels", "pkg/bytes.py", "scale.py", "gone.py", "--json")
    assert done.code == 3
    assert [k["kernel"] for k in json.loads(done.out)] == ["scale_kernel"]
    bytes_, gone = done.err.splitlines()
    assert "isn't text that Python can read" in bytes_
    assert gone == "There is no file gone.py: check the name and the folder that you are in."


def test_without_a_kernel(home: Home) -> None:
    (home.work / "empty").mkdir()
    refused(home, 3, "There is no Triton kernel in empty", run=lambda: home.run("kernels", "empty"))
    refused(home, 3, "There is no file gone", run=lambda: home.run("kernels", "empty", "gone"))
    refused(home, 2, "No file is named", run=lambda: home.run("kernels"))

"""What the benchmarks run on: every example, and of an example with several kernels each one (``FILE::KERNEL``)."""

from __future__ import annotations

from pathlib import Path

from kernelband.source import Workspace, find_kernels, find_program

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def examples(folder: Path = EXAMPLES) -> list[Path]:
    """The targets of a folder, by name. A path of several kernels ends in ``::KERNEL``, as the command line takes it."""
    return [target for file in sorted(folder.glob("*.py")) for target in of_file(file)]


def of_file(file: Path) -> list[Path]:
    """The file, or one target for each kernel in it that some function launches."""
    path, workspace = str(file), Workspace.for_file(str(file))
    names = [k.place.qualname for k in find_kernels(path, workspace.read(path))]
    launched = [name for name in names if find_program(workspace, path, name).hosts]
    return [file] if len(launched) < 2 else [file.with_name(f"{file.name}::{name}") for name in launched]


def label(target: Path) -> str:
    """The file without its ending, or the kernel's name where the file has several."""
    file, _, kernel = target.name.partition("::")
    return kernel or Path(file).stem

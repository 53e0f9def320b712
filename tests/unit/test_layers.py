"""The layout is the architecture: rooms import upwards only, and each process imports only what it may."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[2] / "server"
ENGINE, WORKER = SERVER / "kernelband", SERVER / "kernelband_worker"
ROOMS = ["errors", "source", "worker", "workload", "hardware", "history", "strategies", "propose", "judge", "search", "explain", "lsp", "cli"]
SHARED = {"wire", "frames", "scrub", "system"}  # the words, how they travel, and what both sides do to processes: stdlib only
WORKER_MAY = {"torch", "triton", "numpy", "kernelband_worker"}


def imports(path: Path) -> set[str]:
    """Every absolute module that the file names in an import statement, wherever it stands."""
    found: set[str] = set()
    package = [*path.relative_to(SERVER).with_suffix("").parts][: -1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "kernelband" and len(parts) > 1 else None


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=lambda p: str(p.relative_to(SERVER)))
def test_a_room_imports_only_the_rooms_above_it(path: Path) -> None:
    own = path.relative_to(ENGINE).with_suffix("").parts[0]
    if own in ("__init__", "__main__"):
        return
    allowed = set(ROOMS[: ROOMS.index(own) + 1]) | {"__version__"}
    assert {r for m in imports(path) if (r := room(m))} <= allowed


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=lambda p: str(p.relative_to(SERVER)))
def test_the_engine_knows_the_worker_by_its_words_only(path: Path) -> None:
    of_worker = {m for m in imports(path) if m.split(".")[0] == "kernelband_worker"}
    assert {m.split(".")[1] for m in of_worker if "." in m} <= SHARED


@pytest.mark.parametrize("path", sorted(WORKER.rglob("*.py")), ids=lambda p: str(p.relative_to(SERVER)))
def test_the_worker_imports_stdlib_torch_triton_and_numpy(path: Path) -> None:
    assert {m.split(".")[0] for m in imports(path)} - set(sys.stdlib_module_names) <= WORKER_MAY


@pytest.mark.parametrize(
    ("rooms", "forbidden"),
    [
        ([r for r in ROOMS if r not in ("search", "lsp")], ["numpy", "sklearn", "openai", "torch", "triton"]),
        (["search"], ["torch", "triton"]),
    ],
    ids=["server", "search"],
)
def test_what_a_process_loads(rooms: list[str], forbidden: list[str]) -> None:
    """Import every module of the rooms in a fresh Python and look at what came along."""
    modules = [
        ".".join(p.relative_to(SERVER).with_suffix("").parts).removesuffix(".__init__")
        for name in rooms
        for p in sorted(ENGINE.glob(f"{name}.py")) + sorted((ENGINE / name).rglob("*.py"))
    ]
    assert modules
    code = f"import importlib, sys\nfor m in {modules!r}: importlib.import_module(m)\nprint(*[m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=lambda p: str(p.relative_to(SERVER)))
def test_openai_and_numpy_stay_in_their_rooms(path: Path) -> None:
    tops = {m.split(".")[0] for m in imports(path)}
    own = path.relative_to(ENGINE).parts[0]
    assert not tops & {"torch", "triton"}
    if own not in ("search", "propose"):
        assert not tops & {"numpy", "sklearn", "scipy", "openai"}

"""The layout is the architecture: rooms import upwards only, and each process imports only what it may."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[2] / "server"
ENGINE, WORKER = SERVER / "kernelband", SERVER / "kernelband_worker"
ROOMS = [
    "errors",
    "source",
    "worker",
    "workload",
    "hardware",
    "history",
    "strategies",
    "propose",
    "judge",
    "search",
    "explain",
    "lsp",
    "cli",
]
SHARED = {"wire", "frames", "scrub", "system"}  # the words, how they travel, and what both sides do to processes: stdlib only
WORKER_MAY = {"torch", "triton", "numpy", "kernelband_worker"}


def imports(path: Path) -> set[str]:
    """Every absolute module that the file names in an import statement, wherever it stands."""
    found: set[str] = set()
    package = [*path.relative_to(SERVER).with_suffix("").parts][:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


@pytest.fixture(scope="module")
def engine() -> dict[Path, set[str]]:
    """What each file of the engine imports, by its path below kernelband/."""
    return {path.relative_to(ENGINE): imports(path) for path in sorted(ENGINE.rglob("*.py"))}


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "kernelband" and len(parts) > 1 else None


def tops(modules: set[str]) -> set[str]:
    return {m.split(".")[0] for m in modules}


def offenders(found: dict[Path, set[str]]) -> dict[str, set[str]]:
    """What shouldn't be imported, by file: no file is in it where the rule holds."""
    return {str(path): what for path, what in found.items() if what}


def test_a_room_imports_only_the_rooms_above_it(engine: dict[Path, set[str]]) -> None:
    assert {path.with_suffix("").parts[0] for path in engine} == {*ROOMS, "__init__", "__main__"}, "a file in no room is under no rule"
    allowed = {name: {*ROOMS[: number + 1], "__version__"} for number, name in enumerate(ROOMS)} | {
        "__init__": set[str](),
        "__main__": {"cli"},
    }
    wrong = {path: {r for m in named if (r := room(m))} - allowed[path.with_suffix("").parts[0]] for path, named in engine.items()}
    assert offenders(wrong) == {}


def test_no_module_comes_back_to_itself_by_what_it_imports() -> None:
    paths = {path: path.relative_to(SERVER).with_suffix("") for path in SERVER.rglob("*.py")}
    names = {".".join(p.parts[:-1] if p.name == "__init__" else p.parts): path for path, p in paths.items()}
    graph = {name: _modules(imports(path), names) - {name} for name, path in names.items()}
    assert graph["kernelband.lsp.features.lens"] >= {"kernelband.lsp.server"}, "what stands under TYPE_CHECKING counts, too"
    TopologicalSorter(graph).prepare()  # a CycleError names the circle


def _modules(imported: set[str], names: Collection[str]) -> set[str]:
    """The modules of ours among imported ones and their members; of a package of which only a module is taken, that module."""
    found = {name for name in imported if name in names}
    return found - {name for name in found if any(other.rpartition(".")[0] == name for other in found)}


def test_features_are_put_on_the_server_by_the_app_alone(engine: dict[Path, set[str]]) -> None:
    features = "kernelband.lsp.features"
    inside = {path: named for path, named in engine.items() if path.parts[:2] == ("lsp", "features")}
    users = {str(path) for path, named in engine.items() if path not in inside and any(name.startswith(features) for name in named)}
    assert users == {"lsp/app.py"}


def test_the_engine_knows_the_worker_by_its_words_only(engine: dict[Path, set[str]]) -> None:
    of_worker = {path: {m.split(".")[1] for m in named if m.startswith("kernelband_worker.")} for path, named in engine.items()}
    assert any(of_worker.values())
    assert offenders({path: words - SHARED for path, words in of_worker.items()}) == {}


def test_the_worker_imports_stdlib_torch_triton_and_numpy() -> None:
    worker = {path.relative_to(WORKER): imports(path) for path in sorted(WORKER.rglob("*.py"))}
    assert worker
    assert offenders({path: tops(named) - set(sys.stdlib_module_names) - WORKER_MAY for path, named in worker.items()}) == {}


def test_compiled_packages_stay_in_their_rooms(engine: dict[Path, set[str]]) -> None:
    here, nowhere = {"numpy", "sklearn", "scipy", "openai"}, {"torch", "triton"}
    wrong = {path: tops(named) & (nowhere if path.parts[0] in ("search", "propose") else nowhere | here) for path, named in engine.items()}
    assert offenders(wrong) == {}


#: Imports the modules of argv[3] where those of argv[1] aren't installed, as it were; prints which of argv[2] are loaded.
LOADS = """
import importlib, sys

missing, unwanted, modules = (argument.split() for argument in sys.argv[1:])


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
for module in modules:
    importlib.import_module(module)
print(*[name for name in unwanted if name in sys.modules])
"""
COMPILED = ["numpy", "pandas", "scipy", "sklearn", "openai", "torch", "triton"]


def loads(rooms: list[str], missing: list[str], unwanted: list[str]) -> subprocess.CompletedProcess[str]:
    """Every module of the rooms in a fresh Python."""
    modules = [
        ".".join(p.relative_to(SERVER).with_suffix("").parts).removesuffix(".__init__")
        for name in rooms
        for p in sorted(ENGINE.glob(f"{name}.py")) + sorted((ENGINE / name).rglob("*.py"))
    ]
    assert modules
    command = [sys.executable, "-c", LOADS, " ".join(missing), " ".join(unwanted), " ".join(modules)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


def test_all_but_the_search_works_with_pure_python_only() -> None:
    done = loads([r for r in ROOMS if r != "search"], missing=COMPILED, unwanted=COMPILED)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


@pytest.mark.parametrize(
    ("rooms", "unwanted"),
    [
        # numpy comes with sqlite-utils, which takes it along where it is installed and does without where it isn't.
        ([r for r in ROOMS if r != "search"], ["scipy", "sklearn", "openai", "torch", "triton"]),
        (["search"], ["torch", "triton"]),
    ],
    ids=["server", "search"],
)
def test_what_a_process_loads(rooms: list[str], unwanted: list[str]) -> None:
    done = loads(rooms, missing=[], unwanted=unwanted)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_what_is_missing_is_noticed() -> None:
    """The two tests above can fail: without attrs nothing of the engine can be imported."""
    done = loads(["errors", "source"], missing=["attrs", "attr"], unwanted=[])
    assert done.returncode != 0
    assert "No module named 'attrs'" in done.stderr

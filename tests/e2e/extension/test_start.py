"""How the extension's Python begins: what is carried comes first, and only its bytecode is kept, where there is room for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

START = Path(__file__).parents[3] / "vscode-extension" / "bundled" / "start.py"
#: In place of the command line: what it was started with, and a module of Python's own that few others import.
COMMAND_LINE = """import sys
import colorsys


def main():
    print(sys.argv[1:], [path for path in sys.path if path == "/packages"], sys.pycache_prefix)
"""


def test_only_what_is_carried_is_compiled_into_the_cache(tmp_path: Path) -> None:
    libs, cache = tmp_path / "bundled" / "libs", tmp_path / "cache"
    (libs / "kernelband").mkdir(parents=True)
    (libs / "kernelband" / "__init__.py").touch()
    (libs / "kernelband" / "cli.py").write_text(COMMAND_LINE)
    start = shutil.copy(START, tmp_path / "bundled")
    before = sorted(libs.rglob("*"))
    for _ in range(2):  # the second is given what the first has kept
        said = run(start, "--cache", str(cache), "--packages", "/packages", "lsp", "--cache", "x")
        assert said == "['lsp', '--cache', 'x'] ['/packages'] None\n"
        kept = sorted(path.name.partition(".")[0] for path in cache.rglob("*.pyc"))
        assert kept == ["__init__", "cli"]
        assert all(str(path).startswith(f"{cache}{libs}/") for path in cache.rglob("*.pyc"))
    assert sorted(libs.rglob("*")) == before
    assert run(start, "--packages", "/packages", "show") == "['show'] ['/packages'] None\n"


def run(*words: str) -> str:
    done = subprocess.run([sys.executable, "-I", *words], capture_output=True, text=True, timeout=60, check=False, env={})
    assert done.returncode == 0, done.stderr
    return done.stdout

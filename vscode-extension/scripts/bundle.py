"""Fill ``bundled/libs`` with the server and its dependencies, all of them pure Python, and say how big the search's packages are.

Run by `make vsix` with the Python of the project's environment. Only wheels for any platform and any Python 3 are taken.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "vscode-extension" / "bundled"
LIBS = BUNDLED / "libs"
PURE = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none", "--python-version=3.10"]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-q"]
#: Of an installed package: what neither it nor a reader of its licence needs.
LEFT_OUT = (
    "bin",
    "__pycache__",
    "tests",
    "*.dist-info/RECORD",
    "*.dist-info/INSTALLER",
    "*.dist-info/REQUESTED",
    "*.dist-info/direct_url.json",
)

sys.path.insert(0, str(ROOT / ".ci"))
from sizes import download_bytes  # noqa: E402


def libs() -> None:
    """The dependencies, by their hashes, then our own packages."""
    shutil.rmtree(LIBS, ignore_errors=True)
    subprocess.run(
        [*PIP, "--no-deps", "--no-compile", "--require-hashes", *PURE, f"--target={LIBS}", "-r", ROOT / "requirements" / "server.txt"],
        check=True,
        timeout=600,
    )
    for pattern in LEFT_OUT:
        for found in (*LIBS.glob(pattern), *LIBS.glob(f"*/{pattern}")):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    shutil.rmtree(BUNDLED / "__pycache__", ignore_errors=True)
    for package in ("kernelband", "kernelband_worker"):
        shutil.copytree(ROOT / "server" / package, LIBS / package, ignore=shutil.ignore_patterns("__pycache__"))


def demo() -> None:
    """The kernel of the walkthrough, as it is among the examples."""
    folder = BUNDLED / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(ROOT / "examples" / "layer_norm.py", folder)


def search() -> None:
    """The lock of the search's packages, and what installing it downloads here: other platforms' wheels are about as big."""
    lock = ROOT / "requirements" / "search.txt"
    shutil.copy(lock, BUNDLED / "search.txt")
    size = download_bytes(sys.executable, ["--require-hashes", "--only-binary=:all:", "-r", str(lock)])
    (BUNDLED / "search.json").write_text(json.dumps({"megabytes": round(size / 1e6)}) + "\n")


libs()
demo()
search()

"""The extension as it is shipped: `make vsix` has made it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
VSIX = ROOT / "vscode-extension" / "dist" / "kernelband.vsix"


@pytest.fixture(scope="session")
def vsix() -> Iterator[zipfile.ZipFile]:
    if not VSIX.exists():
        pytest.fail(f"{VSIX} isn't there: run `make vsix`")
    with zipfile.ZipFile(VSIX) as found:
        yield found


@pytest.fixture(scope="session")
def installed(vsix: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that an editor makes of it."""
    folder = tmp_path_factory.mktemp("installed")
    vsix.extractall(folder)
    return folder / "extension"

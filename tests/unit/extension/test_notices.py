"""What the extension carries is allowed and has its text, or there is no .vsix."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "vscode-extension" / "scripts" / "notices.py"


@pytest.fixture(scope="module")
def notices() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notices", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dist(libs: Path, name: str, *said: str, text: str = "Do what you like.") -> None:
    folder = libs / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *said]) + "\n")
    if text:
        (folder / "LICENSE").write_text(text, encoding="utf-8")


def npm(base: Path, name: str, licence: str | None, *files: str) -> list[str]:
    """A package below node_modules, and the inputs that esbuild would have of it."""
    folder = base.parent / "node_modules" / name
    (folder / "lib").mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": name, "version": "2.0.0", **({"license": licence} if licence else {})}))
    (folder / "lib" / "package.json").write_text('{"type": "module"}')
    for file in files:
        (folder / file).write_text(f"The text of {name}.")
    return [f"../node_modules/{name}/lib/index.js"]


def test_each_has_its_licence_and_the_text(notices: ModuleType, tmp_path: Path) -> None:
    libs, base = tmp_path / "libs", tmp_path / "extension"
    dist(libs, "one-two", "License-Expression: Apache-2.0 OR GPL-2.0")
    dist(libs, "three", "License: UNKNOWN", "Classifier: License :: OSI Approved :: MIT License")
    inputs = npm(base, "@s/four", "ISC", "LICENCE.md", "ThirdPartyNotices.txt")
    packages = [*notices.python_packages(libs), *notices.npm_packages(["src/extension.ts", *inputs], base)]
    assert {p.name: p.licence for p in packages} == {"one-two": "Apache-2.0 OR GPL-2.0", "three": "MIT", "@s/four": "ISC"}
    assert [p.problem for p in packages] == ["", "", ""]
    text = notices.notices(packages)
    assert "one-two 1.0 (Python), Apache-2.0 OR GPL-2.0" in text
    assert text.count("The text of @s/four.") == 2
    assert text.count("Do what you like.") == 2


@pytest.mark.parametrize(
    ("said", "text", "why"),
    [
        ("License-Expression: GPL-3.0-only", "x", "gpl 1.0 has the licence GPL-3.0-only"),
        ("License-Expression: MIT AND GPL-3.0-only", "x", "has the licence MIT AND GPL-3.0-only"),
        ("Classifier: License :: OSI Approved :: BSD License", "x", "has the licence BSD License"),
        ("Summary: nothing", "x", "has the licence unknown"),
        ("License: MIT", "", "without the text"),
        ("License: MIT", "  \n", "without the text"),
    ],
)
def test_what_is_not_allowed_or_has_no_text_is_named(notices: ModuleType, tmp_path: Path, said: str, text: str, why: str) -> None:
    dist(tmp_path, "gpl", said, text=text)
    (package,) = notices.python_packages(tmp_path)
    assert why in package.problem


def test_an_npm_package_without_licence_or_text_is_named(notices: ModuleType, tmp_path: Path) -> None:
    base = tmp_path / "extension"
    (bare,) = notices.npm_packages(npm(base, "bare", "MIT"), base)
    (none,) = notices.npm_packages(npm(base, "none", None, "LICENSE"), base)
    assert bare.problem.startswith("bare 2.0.0 ")
    assert "without the text" in bare.problem
    assert "licence unknown" in none.problem

"""One file for every platform: small, nothing compiled, nothing of the machine that made it, with the licences of what it carries."""

from __future__ import annotations

import json
import os
import re
import zipfile
from importlib.metadata import distributions
from pathlib import Path

from tests.e2e.extension.conftest import ROOT, VSIX

LARGEST_BYTES = 5_000_000
COMPILED = re.compile(r"\.(so(\.\d+)*|pyd|dll|dylib|pyc|pyo|node|whl|a|o|exe|wasm|egg|jar)$")
#: ELF, Windows, Mach-O (both ways round, and universal), WebAssembly.
MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"\x00asm")


def test_it_is_small(vsix: zipfile.ZipFile) -> None:
    assert VSIX.stat().st_size < LARGEST_BYTES
    assert vsix.testzip() is None


def test_nothing_in_it_is_compiled(vsix: zipfile.ZipFile) -> None:
    names = vsix.namelist()
    assert [name for name in names if COMPILED.search(name.lower()) or "__pycache__" in name] == []
    assert [name for name in names if vsix.read(name).startswith(MAGIC)] == []


def test_it_holds_no_path_of_this_machine(vsix: zipfile.ZipFile) -> None:
    places = {str(ROOT), str(Path.home()), os.environ.get("TMPDIR", "/tmp")}
    private = [f"{place}/".encode() for place in places if place not in ("/", "/tmp")]
    found = [(name, place) for name in vsix.namelist() for place in private if place in vsix.read(name)]
    assert found == []


def test_everything_that_the_manifest_names_is_in_it(vsix: zipfile.ZipFile) -> None:
    names = set(vsix.namelist())
    manifest = json.loads(vsix.read("extension/package.json"))
    steps = [step["media"] for walk in manifest["contributes"]["walkthroughs"] for step in walk["steps"]]
    wanted = [manifest["main"].removeprefix("./"), manifest["icon"], "bundled/start.py", "bundled/search.txt", "l10n/bundle.l10n.json"]
    wanted += [manifest["contributes"]["viewsContainers"]["activitybar"][0]["icon"], "bundled/demo/layer_norm.py"]
    wanted += [media.get("svg") or media["markdown"] for media in steps]
    assert [name for name in wanted if f"extension/{name}" not in names] == []
    lower = {name.lower() for name in names}
    for name in ("readme.md", "changelog.md", "license.txt", "third_party_notices.txt", "package.nls.json"):
        assert f"extension/{name}" in lower


def test_nothing_of_its_readme_is_broken_in_an_editor(vsix: zipfile.ZipFile) -> None:
    text = vsix.read("extension/readme.md").decode()
    assert "## The first minute" in text
    places = re.findall(r"\]\(([^)]*)\)", text)
    assert [place for place in places if not place.startswith("https://")] == [], "an editor's page shows and opens no other"


def test_it_holds_nothing_that_only_we_need(vsix: zipfile.ZipFile) -> None:
    kinds = re.compile(r"\.(ts|tsx|map|mjs)$|/(test|dist-test|node_modules|scripts)/")
    ours = [name for name in vsix.namelist() if not name.startswith("extension/bundled/libs/")]
    assert [name for name in ours if kinds.search(name)] == []


def test_the_notices_name_every_package_in_it(vsix: zipfile.ZipFile, installed: Path) -> None:
    (name,) = (n for n in vsix.namelist() if n.lower() == "extension/third_party_notices.txt")
    text = vsix.read(name).decode()
    libs = installed / "bundled" / "libs"
    carried = {f"{found.name} {found.version} (Python)" for found in distributions(path=[str(libs)])}
    assert len(carried) > 10
    assert [package for package in sorted(carried) if package not in text] == []
    own = {"kernelband", "kernelband_worker"}
    owners = {line.split("/")[0] for found in distributions(path=[str(libs)]) for line in _top_level(found, libs)}
    assert (
        sorted(p.name for p in libs.iterdir() if not p.name.endswith(".dist-info") and p.name.removesuffix(".py") not in owners | own) == []
    )
    assert re.search(r"^vscode-languageclient [\d.]+ \(npm\), MIT$", text, re.MULTILINE)


def _top_level(found: object, libs: Path) -> list[str]:
    """Import names of a distribution; its list of files isn't carried, so by the usual spellings of its name."""
    name = getattr(found, "name", "").lower()
    usual = {"attrs": ["attr", "attrs"], "cattrs": ["cattr", "cattrs"], "markdown-it-py": ["markdown_it"], "python-dateutil": ["dateutil"]}
    return usual.get(name, [name.replace("-", "_")])

"""Write ``THIRD_PARTY_NOTICES.txt``: name, version, licence and its text of every package that the .vsix carries.

Python packages are those in ``bundled/libs``, npm packages those that ``dist/inputs.json`` has a file of. A package without a text, or with
a licence that isn't allowed, ends it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple

EXTENSION = Path(__file__).resolve().parents[1]
ALLOWED = frozenset(
    "MIT BSD-2-Clause BSD-3-Clause ISC Apache-2.0 PSF-2.0 Python-2.0 MPL-2.0 0BSD BlueOak-1.0.0".split()  # noqa: SIM905 - a list to read
)
#: What packages without an SPDX expression call their licence.
WORDS = {
    "MIT License": "MIT",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
#: Where the text says something else, or more, than the name beside it.
BY_TEXT = {
    "click-default-group": "BSD-3-Clause",  # called "Public Domain"
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",  # called "Dual License"
}
#: Packages that carry no text, and one of the same holder and licence that does.
SAME_TEXT = {"@vscode/l10n": "vscode-jsonrpc"}
TEXT = re.compile(r"(licen[cs]e|copying|notice|authors|thirdpartynotices)", re.IGNORECASE)
RULE = "-" * 80


class Package(NamedTuple):
    """``licence``: an SPDX expression, or what it is called; "" for none."""

    kind: str
    name: str
    version: str
    licence: str
    texts: tuple[str, ...]

    @property
    def problem(self) -> str:
        """Why it may not be shipped; "" where it may."""
        choices = [re.findall(r"[\w.-]+", choice) for choice in re.split(r"\bOR\b", self.licence)]
        if not any(choice and all(part == "AND" or part in ALLOWED for part in choice) for choice in choices):
            return (
                f"{self.name} {self.version} has the licence {self.licence or 'unknown'}, which is not among {', '.join(sorted(ALLOWED))}."
            )
        return "" if any(text.strip() for text in self.texts) else f"{self.name} {self.version} comes without the text of its licence."


def python_packages(libs: Path) -> Iterator[Package]:
    """Those installed in that folder."""
    for found in distributions(path=[str(libs)]):
        folder = Path(str(found.locate_file(""))) / f"{found.name.replace('-', '_')}-{found.version}.dist-info"
        if not folder.is_dir():  # another spelling of the name
            (folder,) = (p for p in libs.glob("*.dist-info") if _same(p.name, found))
        yield Package("Python", found.name, found.version, _licence(found), _texts(folder))


def _same(folder: str, found: Distribution) -> bool:
    return re.sub(r"[-_.]+", "-", folder.lower()) == re.sub(r"[-_.]+", "-", f"{found.name}-{found.version}.dist-info".lower())


def _licence(found: Distribution) -> str:
    if found.name in BY_TEXT:
        return BY_TEXT[found.name]
    said: Any = found.metadata
    if said["License-Expression"]:
        return said["License-Expression"]
    classes = [c.rpartition(" :: ")[2] for c in said.get_all("Classifier", []) if c.startswith("License ::")]
    names = [said["License"] or "", *classes]
    return next((WORDS.get(n, n) for n in names if WORDS.get(n, n) in ALLOWED), next(filter(None, names), ""))


def npm_packages(inputs: Iterable[str], base: Path) -> Iterator[Package]:
    """Those that the bundler took a file of.

    Args:
        inputs: paths as esbuild's metafile has them.
        base: the folder that they are relative to.
    """
    folders = {_package_folder((base / path).resolve()) for path in inputs if "node_modules/" in path}
    for folder in sorted(folders):
        said: dict[str, Any] = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        texts = _texts(folder)
        if not texts and said["name"] in SAME_TEXT:
            texts = _texts(_package_folder(base.parent / "node_modules" / SAME_TEXT[said["name"]] / "package.json"))
        yield Package("npm", said["name"], said["version"], str(said.get("license", "")), texts)


def _package_folder(file: Path) -> Path:
    """The nearest one above whose package.json has a name and a version: some are only there for their ``type``."""
    for folder in file.parents:
        manifest = folder / "package.json"
        if manifest.exists() and {"name", "version"} <= json.loads(manifest.read_text(encoding="utf-8")).keys():
            return folder
    raise SystemExit(f"{file} belongs to no package.")


def _texts(folder: Path) -> tuple[str, ...]:
    files = sorted(p for p in (*folder.glob("*"), *folder.glob("licen[cs]es/**/*")) if p.is_file() and TEXT.match(p.name))
    return tuple(p.read_text(encoding="utf-8", errors="replace").strip() for p in files)


def notices(packages: Iterable[Package]) -> str:
    """The file's text."""
    head = "KernelBand for VS Code carries these packages. Their licences:\n"
    parts = [f"{RULE}\n{p.name} {p.version} ({p.kind}), {p.licence}\n{RULE}\n\n" + "\n\n".join(p.texts) + "\n" for p in packages]
    return "\n\n".join([head, *parts])


def carried(extension: Path = EXTENSION) -> list[Package]:
    """All packages of a .vsix made now, by name."""
    inputs: list[str] = json.loads((extension / "dist" / "inputs.json").read_text())
    found = [*python_packages(extension / "bundled" / "libs"), *npm_packages(inputs, extension)]
    return sorted(set(found), key=lambda p: (p.name.lower(), p.version))


def main() -> None:
    """Write it, or say what is in the way."""
    packages = carried()
    problems = [p.problem for p in packages if p.problem]
    if problems:
        sys.exit("\n".join(problems))
    (EXTENSION / "THIRD_PARTY_NOTICES.txt").write_text(notices(packages), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Python's import system asked to serve workspace modules from the protocol: a finder for the workspace's top-level names only, and one for
what turns out to lie beside an entry.
"""

from __future__ import annotations

import importlib.abc
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import List, Optional, Protocol, Sequence, Set

from kernelband_worker.sources import Sources, Text
from kernelband_worker.wire import ModuleFile


class Originals(Protocol):
    """The workspace's modules as their files say: what the import system asks of the loader."""

    top_level: Set[str]
    sources: Sources

    def open_original(self, file: ModuleFile) -> Text:
        """Its text, or the impersonated variant's."""
        ...

    def execute_original(self, module: ModuleType, file: ModuleFile) -> None:
        """Run that text as the module."""
        ...


def specification(file: ModuleFile, loader: importlib.abc.Loader) -> ModuleSpec:
    """The ``__spec__`` of a workspace module or regular package."""
    spec = ModuleSpec(file["name"], loader, origin=file["path"], is_package=file["package"])
    spec.has_location = True  # gives the module its __file__
    if file["package"]:
        spec.submodule_search_locations = [str(Path(file["path"]).parent)]
    return spec


class WorkspaceFinder(importlib.abc.MetaPathFinder):
    """First on ``sys.meta_path``. What the workspace doesn't have is left to the finders behind it."""

    def __init__(self, loader: Originals) -> None:
        self.loader = loader
        self._folders: List[str] = []  # of served packages

    def find_spec(self, fullname: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:  # noqa: ARG002 - the signature is importlib's
        """The workspace's module of that name, if it is the one that Python would take there."""
        top, _, _ = fullname.partition(".")
        parent, _, _ = fullname.rpartition(".")
        if top not in self.loader.top_level or (parent and not self._serves(parent)):
            return None
        file = self.loader.sources.find(fullname)
        if file is None:
            return self._elsewhere(fullname, path) if parent else None
        if file["sha256"] is None:
            return self._namespace(fullname, file, parent)
        if file["package"]:
            self._folders.append(str(Path(file["path"]).parent))
        return specification(file, WorkspaceLoader(self.loader, file))

    def _serves(self, package: str) -> bool:
        """Whether a package came from here, and not from an installed distribution of the same name."""
        spec = getattr(sys.modules.get(package), "__spec__", None)
        if spec is None:
            return False
        return isinstance(spec.loader, WorkspaceLoader) or any(place in self._folders for place in spec.submodule_search_locations or ())

    def _namespace(self, fullname: str, file: ModuleFile, parent: str) -> Optional[ModuleSpec]:
        """PEP 420: a regular package anywhere on the path wins over a folder without ``__init__.py``."""
        installed = None if parent else PathFinder.find_spec(fullname)
        if installed is not None and installed.origin is not None:
            return None
        self._folders.append(file["path"])
        spec = ModuleSpec(fullname, None, is_package=True)
        others = [] if installed is None else list(installed.submodule_search_locations or ())
        spec.submodule_search_locations = [file["path"], *(place for place in others if place != file["path"])]
        return spec

    def _elsewhere(self, fullname: str, path: Optional[Sequence[str]]) -> Optional[ModuleSpec]:
        """A submodule that the workspace has no text of: compiled ones from the disk, others from other parts of a namespace.

        Raises:
            ModuleNotFoundError: only a text on the worker's disk has that name; it may be stale, so it isn't read.
        """
        for place in path or ():
            if place not in self._folders:
                found = PathFinder.find_spec(fullname, [place])
            else:
                found = FileFinder(place, (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec(fullname)
            if found is not None:
                return found
        if PathFinder.find_spec(fullname, list(path or ())) is not None:
            raise ModuleNotFoundError(f"No module named {fullname!r} in the workspace", name=fullname)
        return None


class BesideFinder(importlib.abc.MetaPathFinder):
    """Behind Python's own finders. Entries are chosen after the session began, and only then the engine looks beside them: when somebody
    asks for a name that nobody else has, it is asked which names there are by now.
    """

    def __init__(self, finder: WorkspaceFinder) -> None:
        self._finder = finder

    def find_spec(self, fullname: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:  # noqa: ARG002 - the signature is importlib's
        """The workspace's module of a top-level name that it didn't have when the session began."""
        loader = self._finder.loader
        if "." in fullname or fullname in loader.top_level or fullname not in loader.sources.names():
            return None
        loader.top_level.add(fullname)
        return self._finder.find_spec(fullname)


class WorkspaceLoader(importlib.abc.InspectLoader):
    """Runs a workspace module's text. Writes no bytecode."""

    def __init__(self, loader: Originals, file: ModuleFile) -> None:
        self._loader = loader
        self._file = file

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to importlib."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the original's text, or the impersonated variant's."""
        self._loader.execute_original(module, self._file)

    def get_code(self, fullname: str) -> CodeType:
        """The module's code, for runpy and friends."""
        source = self.get_source(fullname)
        return compile(source, self._file["path"], "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - one loader per module
        """The module's text."""
        return self._loader.open_original(self._file).text

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002 - one loader per module
        """The module's real path."""
        return self._file["path"]

    def is_package(self, fullname: str) -> bool:  # noqa: ARG002 - one loader per module
        """Whether it is an ``__init__.py``."""
        return self._file["package"]

    def get_data(self, path: str) -> bytes:
        """A data file beside the code, where the worker can read it."""
        return Path(path).read_bytes()

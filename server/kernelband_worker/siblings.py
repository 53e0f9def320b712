"""The modules of one variant, beside the original's: the same names seen from inside, modules of their own in memory.

A variant edits some files. Its *siblings* are the edited modules and every workspace module that reaches an edited one, so that an
edited kernel in one file is what its unedited launcher in another file gets. Each runs with an ``__import__`` of its own that gives
siblings for the names that the edit reaches and the ordinary module for all others. ``sys.modules`` keeps the original.

A sibling keeps ``__name__``, ``__package__``, ``__file__`` and ``__spec__`` of the original: relative imports work, ``if __name__ ==
"__main__"`` takes the same way, and Triton, whose keys hold a kernel's module name, compiles an unchanged kernel once for all
variants. The price: an instance of a class of a sibling can't be pickled (pickle finds the original's class under that name).
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any, Dict, List, Mapping, Optional, Protocol, Sequence, Set

from kernelband_worker import imports
from kernelband_worker.finder import Originals, WorkspaceLoader, specification
from kernelband_worker.operators import Operators
from kernelband_worker.registries import Registries
from kernelband_worker.sources import DIGITS, Text, marked
from kernelband_worker.wire import ModuleFile, VariantFile, VariantFiles


class Modules(Originals, Protocol):
    """What a variant's modules ask of the loader, besides."""

    executed: int

    def modules(self) -> List[ModuleType]:
        """The workspace's modules that were imported so far."""
        ...

    def execute(self, module: ModuleType, text: Text, own_builtins: Dict[str, Any]) -> None:
        """Run a text as the module, with builtins of its own."""
        ...


class Siblings:
    """The sibling modules of one variant, loaded when first asked for."""

    def __init__(self, loader: Modules, files: VariantFiles) -> None:
        self.id = files["id"]
        self.edited: Dict[str, VariantFile] = {file["module"]: file for file in files["files"]}
        self._loader = loader
        self._modules: Dict[str, ModuleType] = {}
        self._references: Dict[str, Set[str]] = {}
        self._reaching: Set[str] = set(self.edited)
        self._settled: Set[str] = set()
        self._operators = Operators(self.id)
        self._registries = Registries([])
        self._looked_at = 0  # of the loader's modules, how many there were

    def reaches(self, name: str) -> bool:
        """Whether that workspace module is edited or gets at an edited one through what it imports."""
        if name not in self._settled and name not in self.edited:
            self._settle(name)
        return name in self._reaching

    def get(self, name: str) -> ModuleType:
        """The variant's module of that name: a sibling, a view of a package with siblings in it, or the original."""
        if name in self._modules:
            return self._modules[name]
        reaches = self.reaches(name)
        parent, _, tail = name.rpartition(".")
        holder = self.get(parent) if parent else None
        if name in self._modules:  # the parent's own text imported it
            return self._modules[name]
        if reaches:
            module = self._load(name)
        elif self._has_siblings(name):
            module = self._modules[name] = View(self, self._ordinary(name))
        else:
            return self._ordinary(name)
        if holder is not None:
            setattr(holder, tail, module)
        return module

    def _load(self, name: str) -> ModuleType:
        file = self.file(name)
        assert file is not None
        edit = self.edited.get(name)
        # The text of an unedited sibling is the original's, so it may share its file name.
        filename = marked(file["path"], self.id) if edit else file["path"]
        sha256 = edit["sha256"] if edit else file["sha256"]
        assert sha256 is not None
        # dataclasses and typing look their class's module up in ``sys.modules``: the original's does, and is wanted anyway.
        new = self._loader.sources.find(name) is None
        if not new:
            self._ordinary(name)
        module = importlib.util.module_from_spec(specification(file, WorkspaceLoader(self._loader, file)))
        own_name = f"{name}__kb_{self.id[:DIGITS]}"
        self._modules[name] = sys.modules[own_name] = module  # before it runs: imports may be circular
        if new:
            sys.modules.setdefault(name, module)
        try:
            with self._operators.registering(), self._tables().as_before(name):
                self._loader.execute(module, self._loader.sources.open(file, filename, sha256), {"__import__": self._import})
        except BaseException:
            del self._modules[name], sys.modules[own_name]
            raise
        return module

    def _tables(self) -> Registries:
        if self._looked_at != self._loader.executed:
            self._looked_at = self._loader.executed
            self._registries = Registries(self._loader.modules())
        return self._registries

    def _ordinary(self, name: str) -> ModuleType:
        with self._operators.aside():
            return importlib.import_module(name)

    def file(self, name: str) -> Optional[ModuleFile]:
        """The workspace file of a module, with those that only the variant has."""
        found = self._loader.sources.find(name)
        if found is None and name in self.edited:
            edit = self.edited[name]
            package = edit["path"].replace("\\", "/").endswith("/__init__.py")
            return {"name": name, "path": edit["path"], "package": package, "sha256": edit["sha256"]}
        return found

    def _import(
        self,
        name: str,
        globals: Optional[Mapping[str, Any]] = None,  # noqa: A002 - the names of builtins.__import__
        locals: Optional[Mapping[str, Any]] = None,  # noqa: A002
        fromlist: Optional[Sequence[str]] = (),
        level: int = 0,
    ) -> ModuleType:
        """``builtins.__import__`` as seen by a sibling."""
        absolute = imports.resolve(name, (globals or {}).get("__package__") or "", level)
        items = fromlist or ()
        if absolute is None or not self._concerns(absolute, items):
            if not self._operators.held:  # in a function that is called, where an import is to cost what it costs
                return builtins.__import__(name, globals, locals, items, level)
            with self._operators.aside():
                return builtins.__import__(name, globals, locals, items, level)
        module = self.get(absolute)
        if not items:
            return self.get(absolute.partition(".")[0])  # ``import a.b`` binds ``a``
        for item in items:
            if item == "*":
                if isinstance(module, View):
                    module.materialise()
            elif self._is_submodule(module, absolute, item):
                setattr(module, item, self.get(f"{absolute}.{item}"))
        return module

    def _is_submodule(self, module: ModuleType, absolute: str, item: str) -> bool:
        """Whether ``from absolute import item`` is to bind a module of the workspace: the package may have bound the original's itself.

        A package may call a function as the module that it comes from: then the function is meant.
        """
        if not hasattr(module, "__path__") or self.file(f"{absolute}.{item}") is None:
            return False
        bound = getattr(module, item, None)
        return bound is None or isinstance(bound, ModuleType)

    def _concerns(self, absolute: str, items: Sequence[str]) -> bool:
        if absolute.partition(".")[0] not in self._loader.top_level:
            return False
        if self.reaches(absolute) or self._has_siblings(absolute):
            return True
        return any(self.reaches(f"{absolute}.{item}") for item in items if item != "*")

    def _has_siblings(self, package: str) -> bool:
        return any(name.startswith(f"{package}.") for name in self._reaching)

    def _settle(self, name: str) -> None:
        """Find everything that ``name`` refers to, and in it what reaches an edited module."""
        users: Dict[str, Set[str]] = {}
        queue, seen = [name], {name}
        while queue:
            user = queue.pop()
            for used in self._refers(user):
                users.setdefault(used, set()).add(user)
                if used not in seen:
                    seen.add(used)
                    queue.append(used)
        queue = [found for found in seen if found in self._reaching]
        while queue:
            for user in users.get(queue.pop(), ()):
                if user not in self._reaching:
                    self._reaching.add(user)
                    queue.append(user)
        self._settled |= seen

    def _refers(self, name: str) -> Set[str]:
        """Workspace modules that the text of ``name`` refers to."""
        if name not in self._references:
            found: Set[str] = set()
            file = self.file(name)
            if file is not None and file["sha256"] is not None:
                sha256 = self.edited[name]["sha256"] if name in self.edited else file["sha256"]
                package = name if file["package"] else name.rpartition(".")[0]
                for candidate in sorted(imports.referenced(self._loader.sources.content(sha256), package)):
                    if candidate != name and self._is_module(candidate):
                        found.add(candidate)
            self._references[name] = found
        return self._references[name]

    def _is_module(self, name: str) -> bool:
        top, _, _ = name.partition(".")
        if top not in self._loader.top_level:
            return False
        parent, _, _ = name.rpartition(".")
        if parent:  # ask for ``x.y`` only where ``x`` is a package: most such names are functions
            file = self.file(parent)
            if file is None or not file["package"]:
                return False
        return self.file(name) is not None


class View(ModuleType):
    """A package that the edit doesn't reach, seen by a sibling: the original but for the siblings in it."""

    def __init__(self, siblings: Siblings, original: ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__.update({key: value for key, value in vars(original).items() if key.startswith("__") and key.endswith("__")})
        self.__dict__["_kb_siblings"] = siblings
        self.__dict__["_kb_original"] = original

    def __getattr__(self, name: str) -> Any:
        siblings, original = self.__dict__["_kb_siblings"], self.__dict__["_kb_original"]
        value = getattr(original, name)
        child = f"{original.__name__}.{name}"
        if isinstance(value, ModuleType) and siblings.reaches(child):
            return siblings.get(child)
        return value

    def materialise(self) -> None:
        """Hold the original's names, for ``from package import *``."""
        for name in list(vars(self.__dict__["_kb_original"])):
            if not name.startswith("_"):
                self.__dict__.setdefault(name, getattr(self, name))

"""The modules of one variant, beside the original's: the same names seen from inside, modules of their own in memory.

A variant edits some files. Its *siblings* are the edited modules and every workspace module that makes something of an edited one
(``reach``), so that an edited kernel in one file is what its unedited launcher in another file gets. Each runs when it is first asked for,
with an ``__import__`` of its own that gives views of the modules that the edit reaches, and the ordinary module for all others. A view has
siblings' values for the names that hang on the edit, and the original's for the rest. ``sys.modules`` keeps the original.

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
from typing import Any, Dict, List, Mapping, Optional, Protocol, Sequence, Tuple

from kernelband_worker import imports
from kernelband_worker.finder import Originals, WorkspaceLoader, specification
from kernelband_worker.imports import Binding
from kernelband_worker.operators import Operators
from kernelband_worker.reach import Reach
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
        self._views: Dict[str, View] = {}
        self.reach = Reach(self.file, self._content, self.edited.keys())
        self._operators = Operators(self.id)
        self._registries = Registries([])
        self._looked_at = 0  # of the loader's modules, how many there were

    def seen(self, name: str) -> ModuleType:
        """The module of that name as the variant sees it: edited, a view of one that the edit reaches, or the original."""
        if name in self.edited or name in self._modules:
            return self.get(name)
        if not self._concerns(name):
            return self._ordinary(name)
        if name not in self._views:
            self._views[name] = View(self, self._ordinary(name))
        return self._views[name]

    def get(self, name: str) -> ModuleType:
        """The variant's own module of that name, its text run for it."""
        parts = name.split(".")
        for above in [above for above in map(".".join, (parts[:end] for end in range(1, len(parts)))) if above in self.edited]:
            self.get(above)  # packages run first, as by any import, and may import it
        if name in self._modules:
            return self._modules[name]
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
        for child in [c for c in vars(self._ordinary(name)) if not new and not hasattr(module, c)] if file["package"] else ():
            if self.reach.submodule(name, child) is not None:  # bound by whoever imported it
                setattr(module, child, self.seen(f"{name}.{child}"))
        return module

    def attribute(self, name: str, attribute: str) -> Tuple[Any, str]:
        """Where the variant reads an attribute of an unedited module: an object that has it, and its name there.

        What the module hands on comes from where it is made. What it makes itself is the original's where that neither hangs on an edit nor
        can be changed by what does.
        """
        original, child = self._ordinary(name), self.reach.submodule(name, attribute)
        if child in self._modules and not hasattr(original, attribute):  # one that only the variant has
            return _Holder(self._modules[child]), "value"
        if not hasattr(original, attribute) and (name in self._modules or (attribute[:2] != "__" and self.reach.name(name, attribute))):
            return self.get(name), attribute  # bound later, or only where the edit lets it be
        value = getattr(original, attribute)
        if child is not None and isinstance(value, ModuleType):
            return _Holder(self.seen(child)), "value"
        binding = self.reach.handed_on(name, attribute)
        if binding is not None and self._is_what_it_was(binding, value):
            if binding.kind == "module":
                return _Holder(self.seen(binding.module)), "value"
            below = self.reach.submodule(binding.module, binding.item)
            return (_Holder(self.seen(below)), "value") if below is not None else (self.seen(binding.module), binding.item)
        if self.reach.name(name, attribute) or (self.reach.module(name) and not _fixed(value)):
            return self.get(name), attribute
        if isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value:
            return _Holder(self.seen(value.__name__)), "value"
        return original, attribute

    def _is_what_it_was(self, binding: Binding, value: Any) -> bool:
        """Whether a name still stands for what the import gave it."""
        of = self._ordinary(binding.module)
        return (of if binding.kind == "module" else getattr(of, binding.item, None)) is value

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
        if name.partition(".")[0] not in self._loader.top_level and name not in self.edited:
            return None
        found = self._loader.sources.find(name)
        if found is None and name in self.edited:
            edit = self.edited[name]
            package = edit["path"].replace("\\", "/").endswith("/__init__.py")
            return {"name": name, "path": edit["path"], "package": package, "sha256": edit["sha256"]}
        return found

    def _content(self, file: ModuleFile) -> str:
        sha256 = self.edited[file["name"]]["sha256"] if file["name"] in self.edited else file["sha256"]
        return self._loader.sources.content(sha256 or "")

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
        if absolute is None or not self._concerns(absolute):
            if not self._operators.held:  # in a function that is called, where an import is to cost what it costs
                return builtins.__import__(name, globals, locals, items, level)
            with self._operators.aside():
                return builtins.__import__(name, globals, locals, items, level)
        module = self.seen(absolute)
        if not items:  # ``import a.b`` binds ``a``, and what lies below is read of it
            child = absolute
            while "." in child:
                above, _, tail = child.rpartition(".")
                if above in self._modules and tail not in vars(self._modules[above]):
                    setattr(self._modules[above], tail, self.seen(child))
                child = above
            return self.seen(child)
        for item in items:
            child = f"{absolute}.{item}"
            if item == "*":
                if isinstance(module, View):
                    module.materialise()
            elif isinstance(module, View):
                if self.file(child) is not None and not hasattr(self._ordinary(absolute), item):
                    self.seen(child)  # nobody has imported it yet
            elif hasattr(module, "__path__") and self.file(child) is not None:
                # The package may have bound it itself, or call a function as the module that it comes from: then the function is meant.
                bound = getattr(module, item, None)
                if bound is None or isinstance(bound, ModuleType):
                    setattr(module, item, self.seen(child))
        return module

    def _concerns(self, name: str) -> bool:
        """Whether a module may give anything else than the original's."""
        return self._is_workspace(name) and (name in self._modules or self.reach.package_by(name) or self.reach.whole(name))

    def _is_workspace(self, name: str) -> bool:
        return name.partition(".")[0] in self._loader.top_level or any(name == e.partition(".")[0] for e in self.edited)


_CONSTANTS = {("torch", name) for name in ("dtype", "device", "layout", "memory_format")}


def _fixed(value: Any) -> bool:
    """Nobody can change it where it is."""
    kind = type(value)  # torch.float16, torch.device("cuda"); a tensor is another matter
    return value is None or isinstance(value, (bool, int, float, str, bytes)) or (kind.__module__, kind.__name__) in _CONSTANTS


class _Holder:
    """Something to read a module of."""

    def __init__(self, value: ModuleType) -> None:
        self.value = value


class View(ModuleType):
    """An unedited module, seen by a sibling: the original's names, but for those that the edit reaches."""

    def __init__(self, siblings: Siblings, original: ModuleType) -> None:
        super().__init__(original.__name__)
        kept = {key: value for key, value in vars(original).items() if key.startswith("__") and key.endswith("__")}
        self.__dict__.update({key: value for key, value in kept.items() if key not in ("__getattr__", "__dir__")})
        self.__dict__["_kb_siblings"] = siblings
        self.__dict__["_kb_original"] = original
        self.__dict__["_kb_places"] = {}

    def __getattr__(self, name: str) -> Any:
        places: Dict[str, Tuple[Any, str]] = self.__dict__["_kb_places"]
        if name not in places:
            places[name] = self.__dict__["_kb_siblings"].attribute(self.__dict__["__name__"], name)
        holder, attribute = places[name]
        return getattr(holder, attribute)

    def __setattr__(self, name: str, value: Any) -> None:
        siblings, own = self.__dict__["_kb_siblings"], self.__dict__["__name__"]
        setattr(siblings.get(own) if siblings.reach.module(own) else self.__dict__["_kb_original"], name, value)

    def materialise(self) -> None:
        """Hold the original's names, for ``from package import *``."""
        for name in list(vars(self.__dict__["_kb_original"])):
            if not name.startswith("_"):
                self.__dict__.setdefault(name, getattr(self, name))

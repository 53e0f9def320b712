"""How far an edit reaches: which modules, and which names of a module, hang on an edited one by what the texts say.

A name that a package only hands on (``from .softmax import softmax``) hangs on where it is made, not on the package: a project whose
package imports all of it isn't reached as a whole because something in it asks for ``package.VERSION``.
"""

from __future__ import annotations

import builtins
from typing import AbstractSet, Callable, Dict, FrozenSet, List, Optional, Set

from kernelband_worker import imports
from kernelband_worker.imports import Binding, Bound, Use
from kernelband_worker.wire import ModuleFile

#: Behind a module's name: the module as a whole, with all that it hands on, as ``getattr(module, name)`` may read it.
WHOLE = ":*"
_NOTHING = Bound({}, frozenset())


class Reach:
    """Of one variant's edits.

    Args:
        file: the workspace file of a module, as the variant has it.
        text: what stands in it.
        edited: names of the edited modules.
    """

    def __init__(self, file: Callable[[str], Optional[ModuleFile]], text: Callable[[ModuleFile], str], edited: AbstractSet[str]) -> None:
        self._file, self._text = file, text
        self._edited = edited
        self._reached: Set[str] = {node for name in edited for node in (name, name + WHOLE)}
        self._settled: Set[str] = set()
        self._files: Dict[str, Optional[ModuleFile]] = {}
        self._edges: Dict[str, FrozenSet[str]] = {}

    def module(self, name: str) -> bool:
        """Whether what the module itself makes is edited, or uses anything that hangs on an edit."""
        return self._reaches(name)

    def whole(self, name: str) -> bool:
        """The same of anything that the module binds, or hands on."""
        return self._reaches(name + WHOLE)

    def name(self, module: str, name: str) -> bool:
        """The same of one name of a module."""
        return any(self._reaches(node) for node in self._made_in(module, name))

    def package_by(self, name: str, seen: FrozenSet[str] = frozenset()) -> bool:
        """Whether a module is a package, or hands one on: of it any module below can be read, whoever imported that."""
        file = self.file(name)
        if file is None or name in seen:
            return False
        bound = self._bound(name)
        of = [b.module for found in bound.names.values() for b in found if b.kind == "module"]
        of += [f"{b.module}.{b.item}" for found in bound.names.values() for b in found if b.kind == "from"]
        return file["package"] or any(map(self._is_package, of)) or any(self.package_by(star, seen | {name}) for star in bound.stars)

    def _is_package(self, name: str) -> bool:
        file = self.file(name)
        return file is not None and file["package"]

    def handed_on(self, module: str, name: str) -> Optional[Binding]:
        """The import that alone binds a name of a module, from a module of the workspace, whatever the edit."""
        found = self._binding(module, name)
        decided = {binding for binding in found if binding.kind == "decided"}
        if any(self._reaches(node) for binding in decided for node in self._hangs_on(module, binding)):
            return None
        return self._alone(found - decided)

    def _binding(self, module: str, name: str) -> FrozenSet[Binding]:
        """All that may bind a name, by stars as well: an edit may add a name to a module that a star takes it from."""
        names = self._bound(module).names
        stars = self._starred(module, name)
        found = {Binding("from", star, name) for star in stars} | (names.get("*", frozenset()) if stars else frozenset())
        return names.get(name, frozenset()) | found

    def _alone(self, found: FrozenSet[Binding]) -> Optional[Binding]:
        binding = next(iter(found)) if len(found) == 1 else None
        return binding if binding is not None and binding.kind in ("from", "module") and self.file(binding.module) is not None else None

    def submodule(self, package: str, name: str) -> Optional[str]:
        """The module that ``package.name`` is, where the package binds nothing else by that name."""
        of = self.file(package)
        child = f"{package}.{name}"
        itself = self._bound(package).names.get(name, frozenset()) <= {Binding("from", package, name)}
        return child if of is not None and of["package"] and itself and self.file(child) is not None else None

    def file(self, name: str) -> Optional[ModuleFile]:
        """The workspace file of a module; asked for once, and not for names below what is no package."""
        if name not in self._files:
            parent = name.rpartition(".")[0]
            above = self.file(parent) if parent else None
            inside = not parent or (above is not None and above["package"])
            self._files[name] = self._file(name) if name and inside else None
        return self._files[name]

    # ------------------------------------------------------------ the graph

    def _reaches(self, node: str) -> bool:
        if node not in self._settled and node not in self._reached:
            self._settle(node)
        return node in self._reached

    def _settle(self, node: str) -> None:
        """Find everything that a node hangs on, and in it what hangs on an edit."""
        users: Dict[str, Set[str]] = {}
        queue, seen = [node], {node}
        while queue:
            user = queue.pop()
            for used in self._used(user):
                users.setdefault(used, set()).add(user)
                if used not in seen:
                    seen.add(used)
                    queue.append(used)
        queue = [found for found in seen if found in self._reached]
        while queue:
            fresh = users.get(queue.pop(), set()) - self._reached
            self._reached |= fresh
            queue += fresh
        self._settled |= seen

    def _used(self, node: str) -> FrozenSet[str]:
        if node not in self._edges:
            module, whole, _ = node.partition(WHOLE)
            found: Set[str] = set()
            if whole:
                bound = self._bound(module)
                found = {module, *(star + WHOLE for star in bound.stars if self.file(star) is not None)}
                for name in bound.names:
                    found |= self._made_in(module, name)
            else:
                for use in self._uses(module):
                    found |= self._of_use(use)
            self._edges[node] = frozenset(found - {node})
        return self._edges[node]

    def _of_use(self, use: Use) -> Set[str]:
        binding, attributes = use
        if binding.item == "*":
            return {binding.module + WHOLE} if self.file(binding.module) is not None else set()
        at = binding.module
        for attribute in (binding.item, *attributes) if binding.kind == "from" else attributes:
            further = self._as_module(at, attribute)
            if further is None:
                return self._made_in(at, attribute)
            at = further
        return {at + WHOLE} if self.file(at) is not None else set()

    def _as_module(self, module: str, name: str) -> Optional[str]:
        """The module that a name of another one stands for, where that is known."""
        for _ in range(8):  # handed on so often
            child = self.submodule(module, name)
            binding = self._alone(self._binding(module, name))
            if child is not None or binding is None:
                return child
            if binding.kind == "module":
                return binding.module
            module, name = binding.module, binding.item
        return None

    def _made_in(self, module: str, name: str, seen: FrozenSet[str] = frozenset()) -> Set[str]:
        """Nodes that a name of a module hangs on."""
        key = f"{module}.{name}"
        if key in seen or self.file(module) is None:
            return set()
        if module in self._edited:
            return {module}
        seen |= {key}
        bound = self._bound(module)
        found = bound.names.get(name)
        child = self.submodule(module, name)
        if child is not None:
            return {child + WHOLE}
        if found is None:
            starred = self._starred(module, name)
            handed = {node for star in starred or bound.stars for node in self._made_in(star, name, seen)}
            decided = {node for binding in bound.names.get("*", ()) for node in self._hangs_on(module, binding, seen)}
            return handed | decided if starred else {module, *handed, *decided}
        return {node for binding in self._binding(module, name) for node in self._hangs_on(module, binding, seen)}

    def _hangs_on(self, module: str, binding: Binding, seen: FrozenSet[str] = frozenset()) -> Set[str]:
        """Nodes that a name of a module hangs on by one of its bindings."""
        bound = self._bound(module)
        if binding.kind == "own":
            return {module}
        if binding.kind == "module":
            return {binding.module + WHOLE} if self.file(binding.module) is not None else set()
        if binding.kind == "from":
            return self._made_in(binding.module, binding.item, seen)
        if binding.kind == "value":
            return set()
        if binding.item in bound.names:
            return self._made_in(module, binding.item, seen)
        stars = self._starred(module, binding.item) if hasattr(builtins, binding.item) else bound.stars
        return {node for star in stars for node in self._made_in(star, binding.item, seen)}

    def _starred(self, module: str, name: str, seen: FrozenSet[str] = frozenset()) -> List[str]:
        """Modules that a name of a module comes from by ``from module import *``."""
        stars = [star for star in self._bound(module).stars if star not in seen and self.file(star) is not None]
        return [s for s in stars if name in self._bound(s).names or self._starred(s, name, seen | {module, s})]

    # ------------------------------------------------------------ texts

    def _bound(self, module: str) -> Bound:
        file = self.file(module)
        return _NOTHING if file is None or file["sha256"] is None else imports.bindings(self._text(file), _package(file))

    def _uses(self, module: str) -> FrozenSet[Use]:
        file = self.file(module)
        return frozenset() if file is None or file["sha256"] is None else imports.uses(self._text(file), _package(file))


def _package(file: ModuleFile) -> str:
    return file["name"] if file["package"] else file["name"].rpartition(".")[0]

"""From a name in one file to the function that it stands for, through imports of other workspace files."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen
from parso.tree import NodeOrLeaf

from kernelband.errors import SourceError
from kernelband.source.kernels import definition, find_kernels, references
from kernelband.source.made import inmost
from kernelband.source.model import Kernel, Place
from kernelband.source.scopes import Scopes, absolute, scopes
from kernelband.source.workspace import Workspace

MAX_DEPTH = 8  # re-exports of re-exports


@frozen
class Resolver:
    """Answers over the files of one workspace. Trees and bindings are kept per text, so that asking twice costs nothing."""

    workspace: Workspace

    def scopes(self, path: str) -> Scopes:
        """The bindings of a file."""
        return scopes(self.workspace.read(path))

    def kernels(self, path: str) -> tuple[Kernel, ...]:
        """The kernels of a file."""
        return find_kernels(path, self.workspace.read(path))

    def kernel(self, place: Place) -> Kernel | None:
        """The kernel at a place."""
        return next((k for k in self.kernels(place.path) if k.place == place), None)

    def names(self, dotted: str, at: NodeOrLeaf, path: str) -> list[Place]:
        """The functions and classes that a dotted name at ``at`` may stand for; none when they are not the workspace's."""
        return [p for name in absolute(dotted, at, self.scopes(path)) for p in self.absolute(name, path)]

    def absolute(self, name: str, path: str, depth: int = MAX_DEPTH) -> list[Place]:
        """As ``names``, of a name that ``scopes.absolute`` wrote in the file ``path``."""
        if name.startswith(":"):
            return [Place(path, name[1:])]
        if name.startswith("."):
            return self._relative(name, path, depth)
        parts = name.split(".")
        for size in range(len(parts) - 1, 0, -1):
            found = self.workspace.locate(".".join(parts[:size]), path)
            if found is not None:
                return self._member(found[0], parts[size:], depth)
        if len(parts) == 1:
            return self._starred(parts, path, depth)
        return []

    def _relative(self, name: str, path: str, depth: int) -> list[Place]:
        rest = name.lstrip(".")
        folder = Path(path).parent
        for _ in range(len(name) - len(rest) - 1):
            folder = folder.parent
        parts = rest.split(".") if rest else []
        return self._below(folder, parts, depth)

    def _below(self, folder: Path, parts: list[str], depth: int) -> list[Place]:
        """Members of the deepest module that the parts lead to, from a package's folder."""
        for size in range(len(parts), -1, -1):
            at = folder.joinpath(*parts[:size])
            for file in ([at.with_suffix(".py")] if size else []) + [at / "__init__.py"]:
                if self.workspace.has(str(file)):
                    return self._member(str(file), parts[size:], depth)
        return []

    def _member(self, path: str, parts: list[str], depth: int) -> list[Place]:
        """``a.b`` of the module in ``path``: something that it defines or imports, or a module in its package."""
        if not parts or not depth:
            return []
        if Path(path).suffix != ".py":
            return self._below(Path(path), parts, depth - 1)
        try:
            known = self.scopes(path)
        except SourceError:  # a file that can't be read defines nothing here; its own error shows when it is named
            return []
        out: list[Place] = []
        for name in absolute(".".join(parts), known.module, known) if known.bindings(known.module, parts[0]) else []:
            out += self.absolute(name, path, depth - 1)
        if not out and len(parts) == 1:
            out = self._called(parts[0], path, depth)
        if not out:
            out = self._starred(parts, path, depth)
        if not out and Path(path).name == "__init__.py":
            submodule = Path(path).parent.joinpath(parts[0])
            if self.workspace.has(str(submodule.with_suffix(".py"))) or self.workspace.has(str(submodule / "__init__.py")):
                out = self._below(Path(path).parent, parts, depth - 1)
        return out

    def _called(self, name: str, path: str, depth: int) -> list[Place]:
        """The kernel in ``name = triton.jit(f)`` or ``name = Entry(kernel)`` of a module."""
        known = self.scopes(path)
        values = [b.value for b in known.bindings(known.module, name) if b.kind == "assign" and b.value is not None]
        inner = [(i, v) for v in values if v.type == "atom_expr" and (i := inmost(v)) not in (None, name)]
        found: list[Place] = []
        for name_, at in inner if depth else []:
            meant = [p for n in absolute(name_ or "", at, known) for p in self.absolute(n, path, depth - 1)]
            found += meant or self._called(name_ or "", path, depth - 1)
        return [p for p in found if self.kernel(p) is not None]

    def _starred(self, parts: list[str], path: str, depth: int) -> list[Place]:
        """A name that only ``from module import *`` can have brought."""
        for module in self.scopes(path).stars if depth else []:
            found = self.absolute(f"{module}{'' if module.endswith('.') else '.'}{'.'.join(parts)}", path, depth - 1)
            if found:
                return found
        return []

    def helpers(self, kernel: Kernel) -> tuple[Kernel, ...]:
        """Jit functions that the kernel calls, transitively, also of other files; those of its own file first, in source order."""
        found: dict[Place, Kernel] = {}
        queue = [kernel]
        while queue:
            at = queue.pop()
            known = self.scopes(at.place.path)
            node = definition(known, at.place.qualname)
            for name in references(node, known) if node is not None else []:
                for place in self.absolute(name, at.place.path):
                    helper = self.kernel(place) if place not in found and place != kernel.place else None
                    if helper is not None:
                        found[place] = helper
                        queue.append(helper)
        own = kernel.place.path
        return tuple(sorted(found.values(), key=lambda k: (k.place.path != own, k.place.path, k.span.start)))

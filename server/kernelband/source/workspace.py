"""The user's files: where they are, what they say (open buffers over the disk), and what they are called when imported."""

from __future__ import annotations

import keyword
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kernelband.errors import SourceError
from kernelband.source.encoding import MAX_FILE_BYTES, MAX_NOTEBOOK_BYTES, Encoding, require_short, require_size
from kernelband.source.folders import (
    find_roots,
    in_package,
    is_below,
    is_notebook,
    is_package,
    may_serve,
    package_root,
    python_files,
    real,
    skipped,
)
from kernelband.source.ipynb import decode_file
from kernelband.source.model import text_hash
from kernelband.source.scopes import scopes
from kernelband_worker.wire import ModuleFile

NEVER_SERVED = frozenset({"torch", "triton", "numpy", "kernelband_worker"})  # the worker's own; a folder of that name must not hide them
SOURCE_FOLDERS = ("src",)
MOST_FILES = 10_000  # that are looked through for one kernel


class Workspace:
    """Folders of the user's code with the texts of open buffers over them. Reads below ``roots`` only, and only when asked.

    The text of a notebook is the program that its code cells are. As a module it has a name of its own (``demo_ipynb`` of demo.ipynb),
    since demo.py may stand beside it; its folder is searched for modules, as Jupyter does.

    Module names follow Python: the folder of the script that is run comes first, then the folders that hold its packages, then each
    root's ``src`` and the root itself. A file in a package is always named from its top package.

    Args:
        roots: folders that may be read, the nearest first.
        overlays: text by path, in place of what is on disk; such a file need not exist on disk.
        scripts: files that are run or imported by path, the entry first: their folders are searched for modules.
    """

    def __init__(self, roots: Iterable[str], overlays: Mapping[str, str] | None = None, scripts: Sequence[str] = ()) -> None:
        self.roots = tuple(dict.fromkeys(real(r) for r in roots))
        self._overlays = {real(p): t for p, t in (overlays or {}).items()}
        self._cache: dict[str, tuple[tuple[int, int], str, Encoding]] = {}
        self._blobs: dict[str, bytes] = {}
        self._named = {_name_for(p): p for p in (*self._overlays, *map(real, scripts)) if not _can_be_imported(p)}
        self.search_path = self._search_path(tuple(real(s) for s in scripts))

    @classmethod
    def for_file(cls, path: str, overlays: Mapping[str, str] | None = None, *, entry: str | None = None) -> Workspace:
        """The workspace around a file, and around the file of its entry when that is another one.

        Where the entry imports the file's module by a name that no search folder has, it has put the file's folder on ``sys.path`` itself:
        that folder is then searched too.
        """
        files = [real(entry), real(path)] if entry is not None else [real(path)]
        roots = [r for f in files for r in find_roots(f)]
        packages = [f for f in files[1:] if in_package(f) or not _can_be_imported(f)]
        made = cls(roots, overlays, [files[0], *packages])
        name = Path(files[-1]).stem
        known = bool(packages) or not made.has(files[0]) or made.locate(name) is not None
        if not known and name in scopes(made.read(files[0])).imported():
            return cls(roots, overlays, files)
        return made

    # ------------------------------------------------------------ texts
    def read(self, path: str) -> str:
        r"""The text of a file: its overlay, else the disk, decoded as Python would, line ends untouched, without a byte order mark.

        Raises:
            SourceError: it isn't there, isn't a file, isn't text, is too large, or lies outside the roots.
        """
        return self._load(path)[0]

    def encoding(self, path: str) -> Encoding:
        """How the file on disk is written; UTF-8 for a file that is only an overlay."""
        where = real(path)
        if not self._inside(where) or not Path(where).is_file():
            return Encoding()
        return self._disk(where, path)[1]

    def encode(self, path: str, text: str) -> bytes:
        """The bytes that ``text`` has as the new content of that file: same encoding, byte order mark kept.

        Raises:
            SourceError: the file's encoding hasn't a character of it.
        """
        return self.encoding(path).encode(text, path)

    def marked(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of the files that start with a byte order mark (for ``unified_diff``)."""
        return frozenset(p for p in paths if self.encoding(p).marked)

    def blob(self, sha256: str) -> bytes:
        """A text that was named by ``find_module`` or given to ``keep``: always UTF-8, whatever the file's own encoding.

        Raises:
            SourceError: no such text was named.
        """
        if sha256 not in self._blobs:
            raise SourceError(f"The worker asked for the file content {sha256[:12]}, which this run never named: start the run again.")
        return self._blobs[sha256]

    def keep(self, text: str) -> str:
        """Serve ``text`` by ``blob`` from now on; its hash."""
        name = text_hash(text)
        self._blobs[name] = text.encode("utf-8", "surrogatepass")
        return name

    def _load(self, path: str) -> tuple[str, Encoding]:
        where = real(path)
        if where in self._overlays:
            require_short(path, self._overlays[where])
            return self._overlays[where].removeprefix("\ufeff"), Encoding()
        return self._disk(where, path)

    def _disk(self, where: str, path: str) -> tuple[str, Encoding]:
        if not self._inside(where):
            raise SourceError(f"{path} lies outside the workspace ({', '.join(self.roots)}): open its folder or move the file.")
        try:
            if Path(where).is_dir():
                raise SourceError(f"{path} is a directory: name a Python file in it, such as {path}/FILE.py.")
            stat = os.stat(where)
            state = (stat.st_mtime_ns, stat.st_size)
            known = self._cache.get(where)
            if known is None or known[0] != state:
                require_size(path, stat.st_size, MAX_NOTEBOOK_BYTES if is_notebook(where) else MAX_FILE_BYTES)
                known = (state, *decode_file(Path(where).read_bytes(), where, path))
                self._cache[where] = known
        except FileNotFoundError as error:
            raise SourceError(f"There is no file {path}: check the name and the folder that you are in.") from error
        except OSError as error:
            raise SourceError(f"{path} can't be read: {error.strerror}.") from error
        return known[1], known[2]

    def _inside(self, where: str) -> bool:
        return any(is_below(where, root) for root in self.roots)

    def has(self, path: str) -> bool:
        """Whether there is such a file, on disk or as an overlay, inside the roots."""
        return self._is_file(real(path))

    def _is_file(self, where: str) -> bool:
        return where in self._overlays or (self._inside(os.path.realpath(where)) and Path(where).is_file())

    # ------------------------------------------------------------ modules
    def search_beside(self, path: str, *, script: bool) -> None:
        """Also search, after all else, where Python or pytest would look for what this file imports when it is run: in the folder of its
        top package, and of a ``script`` in its own folder, package or not.
        """
        where = real(path)
        folders = [str(Path(where).parent)] if script else []
        found = [f for f in (*folders, package_root(where)) if self._inside(f)]
        self.search_path = tuple(dict.fromkeys((*self.search_path, *found)))

    def _search_path(self, scripts: tuple[str, ...]) -> tuple[str, ...]:
        folders = [package_root(s) for s in scripts]
        for root in self.roots:
            folders += [
                str(Path(root) / name) for name in SOURCE_FOLDERS if (Path(root) / name).is_dir() and not is_package(Path(root) / name)
            ]
            folders.append(root)
        return tuple(dict.fromkeys(f for f in folders if self._inside(f)))

    def module_name(self, path: str) -> str:
        """What the file is called when imported.

        Raises:
            SourceError: its name can't be imported, or it lies outside the search path.
        """
        where = Path(real(path))
        if is_notebook(where.name):
            return _name_for(str(where))
        top = package_root(str(where))
        for folder in (*self.search_path, top):
            if not is_below(str(where), folder) or (folder != top and is_below(folder, top)):
                continue
            parts = list(where.relative_to(folder).with_suffix("").parts)
            if parts[-1] == "__init__" and len(parts) > 1:
                parts.pop()
            if all(p.isidentifier() and not keyword.iskeyword(p) for p in parts):
                return ".".join(parts)
        if self._named.get(_name_for(str(where))) == str(where):
            return _name_for(str(where))
        raise SourceError(
            f"{path} can't be imported under its name: rename it to a Python identifier, such as {_identifier(where.stem)}.py."
        )

    def find_module(self, name: str) -> ModuleFile | None:
        """The file behind a dotted module name, as Python's path finder would choose it; None when the workspace hasn't it.

        The text is from then on served by ``blob``.
        """
        found = self.locate(name)
        if found is None:
            return None
        path, package = found
        if Path(path).name != "__init__.py" and package:
            return ModuleFile(name=name, path=path, package=True, sha256=None)
        return ModuleFile(name=name, path=path, package=package, sha256=self.keep(self.read(path)))

    def locate(self, name: str, origin: str | None = None) -> tuple[str, bool] | None:
        """(path, is a package) of a module; the folder's path for a namespace package. ``origin``: the file that imports it."""
        if name in self._named:
            return self._named[name], False
        parts = name.split(".")
        if not all(p.isidentifier() for p in parts) or parts[0] in NEVER_SERVED:
            return None
        folders = (package_root(real(origin)), *self.search_path) if origin is not None else self.search_path
        namespace: str | None = None
        for folder in dict.fromkeys(folders):
            found = self._in_folder(Path(folder), parts)
            if found is not None and not (found[1] and Path(found[0]).name != "__init__.py"):
                return found
            if found is not None and namespace is None and parts[0] not in sys.stdlib_module_names:
                namespace = found[0]
        return None if namespace is None else (namespace, True)

    def _in_folder(self, folder: Path, parts: list[str]) -> tuple[str, bool] | None:
        for part in parts[:-1]:
            folder = folder / part
        package, module = folder / parts[-1] / "__init__.py", folder / f"{parts[-1]}.py"
        if self._is_file(str(package)):
            return real(str(package)), True
        if self._is_file(str(module)):
            return real(str(module)), False
        inside = folder / parts[-1]
        if not skipped(inside) and (inside.is_dir() or self._overlays_below(inside)) and self._inside(os.path.realpath(inside)):
            return real(str(inside)), True
        return None

    def _overlays_below(self, folder: Path) -> bool:
        return any(is_below(p, str(folder)) for p in self._overlays)

    def top_level(self) -> list[str]:
        """First components of the module names that the workspace serves, sorted. One listing per folder of the search path."""
        names: set[str] = set(self._named)
        for folder in self.search_path:
            with os.scandir(folder) as entries:
                for entry in entries:
                    stem = entry.name.removesuffix(".py")
                    if stem != entry.name and stem.isidentifier():
                        names.add(stem)
                    elif entry.name.isidentifier() and entry.is_dir() and not skipped(Path(entry.path)) and may_serve(Path(entry.path)):
                        names.add(entry.name)
        for path in self._overlays:
            for folder in self.search_path:
                if is_below(path, folder) and not is_notebook(path):
                    names.add(Path(path).relative_to(folder).parts[0].removesuffix(".py"))
        return sorted(n for n in names if n.isidentifier() and n not in NEVER_SERVED)

    # ------------------------------------------------------------ files
    def files(self, near: str, limit: int = MOST_FILES) -> Iterator[str]:
        """Python files of the workspace: those of the folder of ``near`` and below, then of each folder above; at most ``limit``."""
        seen: set[str] = set()
        for root in (*map(str, Path(real(near)).parents), *self.roots):
            if not self._inside(root):
                continue
            for path in (
                *sorted(p for p in self._overlays if is_below(p, root)),
                *python_files(root),
            ):
                if path not in seen and path.endswith(".py"):
                    seen.add(path)
                    yield path
                    if len(seen) >= limit:
                        return

    def mentions(self, path: str, word: str) -> bool:
        """Whether the file's text holds ``word``; False for files that are no readable source."""
        where = real(path)
        if where in self._overlays:
            return word in self._overlays[where]
        try:
            if not self._inside(where) or os.stat(where).st_size > MAX_FILE_BYTES // 4:
                return False
            return word.encode() in Path(where).read_bytes()
        except OSError:  # gone or unreadable: then nothing in it launches the kernel
            return False


class Texts(Workspace):
    """A workspace in which only the texts given may launch a kernel. Modules between them are still looked up on the disk."""

    def files(self, near: str, limit: int = MOST_FILES) -> Iterator[str]:
        """The texts, ``near`` first."""
        yield from sorted(self._overlays, key=lambda p: (p != near, p))[:limit]


def _can_be_imported(path: str) -> bool:
    """Whether an import statement can name the file: no notebook, and no ``01-vector-add.py``."""
    return not is_notebook(path) and Path(path).stem.isidentifier() and not keyword.iskeyword(Path(path).stem)


def _name_for(path: str) -> str:
    """What such a file is called here."""
    where = Path(path)
    return _identifier(where.stem) + where.suffix.replace(".", "_")


def _identifier(stem: str) -> str:
    name = "".join(c if c.isalnum() else "_" for c in stem)
    return name if name.isidentifier() else "_" + name

"""The user's files: where they are, what they say (open buffers over the disk), and what they are called when imported."""

from __future__ import annotations

import keyword
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kernelband_worker.wire import ModuleFile

from kernelband.errors import SourceError
from kernelband.source.encoding import Encoding, decode
from kernelband.source.model import text_hash

PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "env", "virtualenv", "build", "dist"})
NEVER_SERVED = frozenset({"torch", "triton", "numpy", "kernelband_worker"})  # the worker's own; a folder of that name must not hide them
SOURCE_FOLDERS = ("src",)
MAX_FILE_BYTES = 4_000_000
MAX_FOLDERS = 4000  # that a search for hosts looks into
DEEPEST, DEEPEST_LOOSE = 30, 2  # how far below a project, and below a folder that is none (a script in /tmp, say)


class Workspace:
    """Folders of the user's code with the texts of open buffers over them. Reads below ``roots`` only, and only when asked.

    Module names follow Python: the folder of the script that is run comes first, then the folders that hold its packages, then each
    root's ``src`` and the root itself. A file in a package is always named from its top package.

    Args:
        roots: folders that may be read, the nearest first.
        overlays: text by path, in place of what is on disk; such a file need not exist on disk.
        scripts: files that are run or imported by path, the entry first: their folders are searched for modules.
    """

    def __init__(self, roots: Iterable[str], overlays: Mapping[str, str] | None = None, scripts: Iterable[str] = ()) -> None:
        self.roots = tuple(dict.fromkeys(real(r) for r in roots))
        self._overlays = {real(p): t for p, t in (overlays or {}).items()}
        self._cache: dict[str, tuple[tuple[int, int], str, Encoding]] = {}
        self._blobs: dict[str, bytes] = {}
        self.search_path = self._search_path(tuple(real(s) for s in scripts))

    @classmethod
    def for_file(cls, path: str, overlays: Mapping[str, str] | None = None, *, entry: str | None = None) -> Workspace:
        """The workspace around a file, and around the file of its entry when that is another one."""
        files = [real(entry), real(path)] if entry is not None else [real(path)]
        roots = [r for f in files for r in find_roots(f)]
        script = files[0]
        packages = [f for f in files[1:] if _in_package(f)]
        return cls(roots, overlays, [script, *packages])

    # ------------------------------------------------------------ texts
    def read(self, path: str) -> str:
        r"""The text of a file: its overlay, else the disk, decoded as Python would, line ends untouched, without a byte order mark.

        Raises:
            SourceError: it isn't there, isn't a file, isn't text, or lies outside the roots.
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
                if stat.st_size > MAX_FILE_BYTES:
                    raise SourceError(f"{path} has {stat.st_size:,} bytes, more than a source file should: name a smaller file.")
                known = (state, *decode(Path(where).read_bytes(), path))
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
    def _search_path(self, scripts: tuple[str, ...]) -> tuple[str, ...]:
        folders = [package_root(s) for s in scripts]
        for root in self.roots:
            folders += [
                str(Path(root) / name) for name in SOURCE_FOLDERS if (Path(root) / name).is_dir() and not _is_package(Path(root) / name)
            ]
            folders.append(root)
        return tuple(dict.fromkeys(f for f in folders if self._inside(f)))

    def module_name(self, path: str) -> str:
        """What the file is called when imported.

        Raises:
            SourceError: its name can't be imported, or it lies outside the search path.
        """
        where = Path(real(path))
        top = package_root(str(where))
        for folder in (*self.search_path, top):
            if not is_below(str(where), folder) or (folder != top and is_below(folder, top)):
                continue
            parts = list(where.relative_to(folder).with_suffix("").parts)
            if parts[-1] == "__init__" and len(parts) > 1:
                parts.pop()
            if all(p.isidentifier() and not keyword.iskeyword(p) for p in parts):
                return ".".join(parts)
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
        if inside.name not in SKIPPED and (inside.is_dir() or self._overlays_below(inside)) and self._inside(os.path.realpath(inside)):
            return real(str(inside)), True
        return None

    def _overlays_below(self, folder: Path) -> bool:
        return any(is_below(p, str(folder)) for p in self._overlays)

    def top_level(self) -> list[str]:
        """First components of the module names that the workspace serves, sorted. One listing per folder of the search path."""
        names: set[str] = set()
        for folder in self.search_path:
            with os.scandir(folder) as entries:
                for entry in entries:
                    stem = entry.name.removesuffix(".py")
                    if stem != entry.name and stem.isidentifier():
                        names.add(stem)
                    elif entry.name.isidentifier() and entry.is_dir() and not skipped(Path(entry.path)) and _may_serve(Path(entry.path)):
                        names.add(entry.name)
        for path in self._overlays:
            for folder in self.search_path:
                if is_below(path, folder):
                    names.add(Path(path).relative_to(folder).parts[0].removesuffix(".py"))
        return sorted(n for n in names if n.isidentifier() and n not in NEVER_SERVED)

    # ------------------------------------------------------------ files
    def files(self, near: str, limit: int = 5000) -> Iterator[str]:
        """Python files of the workspace, those beside ``near`` first, then by folder from the root down; at most ``limit``."""
        seen: set[str] = set()
        start = str(Path(real(near)).parent)
        for root in (start, *self.roots):
            if not self._inside(root):
                continue
            for path in (
                *sorted(p for p in self._overlays if is_below(p, root)),
                *_python_files(root, DEEPEST if _is_project(root) else DEEPEST_LOOSE),
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


def real(path: str) -> str:
    """Absolute, links resolved: how paths are written everywhere."""
    return os.path.realpath(path)


def is_below(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def find_roots(path: str) -> tuple[str, ...]:
    """The nearest project folder of a file (pyproject.toml, setup.py, setup.cfg) and its git root; its own folder when there is neither.

    A ``.git`` or project file in the home folder or the file system's root doesn't count.
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    project: Path | None = None
    for at in (folder, *folder.parents):
        if at == at.parent or str(at) == real(os.path.expanduser("~")):
            break
        if project is None and any((at / name).is_file() for name in PROJECT_FILES):
            project = at
        if (at / ".git").exists():
            return tuple(dict.fromkeys(str(r) for r in (project, at) if r is not None))
    return (str(project or folder),)


def package_root(path: str) -> str:
    """The folder that must be on ``sys.path`` to import the file by its full name: its own, or that of its top package."""
    folder = Path(path).parent
    while _is_package(folder) and folder != folder.parent:
        folder = folder.parent
    return str(folder)


def skipped(folder: Path) -> bool:
    """Folders that hold no code of the user's: hidden, environments, caches, built and installed things."""
    name = folder.name
    return name.startswith(".") or name in SKIPPED or name.endswith(".egg-info") or (folder / "pyvenv.cfg").exists()


def _is_project(folder: str) -> bool:
    return any((Path(folder) / name).exists() for name in (".git", *PROJECT_FILES))


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


def _may_serve(folder: Path) -> bool:
    """Whether a folder can be a package of the user's: without ``__init__.py`` it needs Python files and hides no standard module."""
    if _is_package(folder):
        return True
    if folder.name in sys.stdlib_module_names:
        return False
    return next(_python_files(str(folder), deepest=1), None) is not None


def _in_package(path: str) -> bool:
    return _is_package(Path(path).parent)


def _python_files(root: str, deepest: int) -> Iterator[str]:
    queue, visited = deque([(root, 0)]), 0
    while queue and visited < MAX_FOLDERS:
        folder, depth = queue.popleft()
        visited += 1
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda e: e.name)
        except OSError:  # no permission, or gone meanwhile: nothing to find there
            continue
        for entry in listed:
            if entry.is_dir(follow_symlinks=False):
                if depth < deepest and not skipped(Path(entry.path)):
                    queue.append((entry.path, depth + 1))
            elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
                yield entry.path


def _identifier(stem: str) -> str:
    name = "".join(c if c.isalnum() else "_" for c in stem)
    return name if name.isidentifier() else "_" + name

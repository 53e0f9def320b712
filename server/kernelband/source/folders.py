"""Folders on disk: where a project begins, what counts as the user's code in it, and which Python files there are."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

NOTEBOOK = ".ipynb"
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
INSTALLED = ("site-packages", "dist-packages")  # where packages lie that have nothing to do with each other
SKIPPED = frozenset({"node_modules", *INSTALLED, "__pycache__", "venv", "env", "virtualenv", "build", "dist"})
MAX_FOLDERS = 4000  # that a search for hosts looks into
DEEPEST, DEEPEST_LOOSE = 30, 2  # how far below a project, and, but for packages, below a folder that is none (a script in /tmp, say)


def real(path: str) -> str:
    """Absolute, links resolved: how paths are written everywhere."""
    return os.path.realpath(path)


def is_below(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_notebook(path: str) -> bool:
    """Whether a file of that name is a Jupyter notebook."""
    return path.lower().endswith(NOTEBOOK)


def find_roots(path: str) -> tuple[str, ...]:
    """The nearest project folder of a file (pyproject.toml, setup.py, setup.cfg) and its git root. Where there is neither, the folder that
    holds its top package, for tests may lie beside that (its own, where it is installed); the file's own folder where it is in no package.

    A ``.git`` or project file in the home folder or the file system's root doesn't count, and neither of them is taken for a project.
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    project: Path | None = None
    for at in (folder, *folder.parents):
        if _holds_all(at):
            break
        if project is None and any((at / name).is_file() for name in PROJECT_FILES):
            project = at
        if (at / ".git").exists():
            return tuple(dict.fromkeys(str(r) for r in (project, at) if r is not None))
    while project is None and is_package(folder) and not _holds_all(folder.parent) and folder.parent.name not in INSTALLED:
        folder = folder.parent
    return (str(project or folder),)


def _holds_all(folder: Path) -> bool:
    return folder == folder.parent or str(folder) == real(os.path.expanduser("~"))


def package_root(path: str) -> str:
    """The folder that must be on ``sys.path`` to import the file by its full name: its own, or that of its top package. A notebook is in no
    package, even if it lies in one's folder.
    """
    folder = Path(path).parent
    while not is_notebook(path) and is_package(folder) and folder != folder.parent:
        folder = folder.parent
    return str(folder)


def skipped(folder: Path) -> bool:
    """Folders that hold no code of the user's: hidden, environments, caches, built and installed things."""
    name = folder.name
    return name.startswith(".") or name in SKIPPED or name.endswith(".egg-info") or (folder / "pyvenv.cfg").exists()


def is_project(folder: str) -> bool:
    """Whether a project or a git repository begins there."""
    return any((Path(folder) / name).exists() for name in (".git", *PROJECT_FILES))


def is_package(folder: Path) -> bool:
    """Whether it is a regular package."""
    return (folder / "__init__.py").is_file()


def may_serve(folder: Path) -> bool:
    """Whether a folder can be a package of the user's: without ``__init__.py`` it needs Python files and hides no standard module."""
    if is_package(folder):
        return True
    if folder.name in sys.stdlib_module_names:
        return False
    return next(python_files(str(folder), deepest=1), None) is not None


def in_package(path: str) -> bool:
    """Whether a file is part of a regular package."""
    return is_package(Path(path).parent)


def python_files(root: str, deepest: int | None = None) -> Iterator[str]:
    """The Python files below a folder, folder by folder from the top, links not followed."""
    deeper = DEEPEST if deepest is None else deepest  # below packages
    if deepest is None:
        deepest = DEEPEST if is_project(root) else DEEPEST_LOOSE
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
                at = Path(entry.path)
                if (depth < deepest or (depth < deeper and is_package(at))) and not skipped(at):
                    queue.append((entry.path, depth + 1))
            elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
                yield entry.path

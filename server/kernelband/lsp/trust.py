"""Which folders may run code: what the user listed with ``kernelband trust``, and what their editor says of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import platformdirs
from attrs import define, field, frozen

from kernelband.errors import UsageError
from kernelband.lsp.index import is_file
from kernelband.source.private import write_private
from kernelband.workload.permission import as_environment, permitted


def default_path() -> Path:
    """The list, in the user's own configuration: never in a workspace."""
    return platformdirs.user_config_path("kernelband") / "trust.json"


@frozen
class Listed:
    """Folders by resolved absolute path: trusted or not. ``problem``: why it can't be used; it is empty then."""

    folders: Mapping[str, bool] = field(factory=dict[str, bool])
    problem: str = ""


def read(path: Path) -> Listed:
    """The list. None yet is an empty one; what can't be understood trusts nothing."""
    try:
        found: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Listed()
    except OSError as error:
        return Listed(problem=_problem(path, error.strerror or str(error)))
    except (ValueError, RecursionError):
        return Listed(problem=_problem(path, "it is not JSON"))
    folders: Any = cast("dict[str, Any]", found).get("folders") if isinstance(found, dict) else None
    if not isinstance(folders, dict):
        return Listed(problem=_problem(path, "it holds no folders"))
    checked: dict[str, bool] = {}
    for folder, trusted in cast("dict[str, Any]", folders).items():
        if not isinstance(trusted, bool) or not os.path.isabs(folder):
            return Listed(problem=_problem(path, f"{folder!r} is no absolute path with true or false"))
        checked[folder] = trusted
    return Listed(checked)


def put(path: Path, folder: str, trusted: bool) -> Listed:
    """List the folder as trusted, or make it one that isn't; the new list.

    Raises:
        UsageError: the list can't be read or written; it stays as it was.
    """
    listed = read(path)
    if listed.problem:
        raise UsageError(listed.problem)
    folder = os.path.realpath(folder)
    folders = dict(listed.folders)
    if trusted:
        folders[folder] = True
    else:
        folders[folder] = False  # also where nothing above it is listed: an editor may trust what is
    try:
        write_private(path, json.dumps({"folders": dict(sorted(folders.items()))}, indent=1) + "\n")
    except OSError as error:
        raise UsageError(f"The list of trusted folders can't be written to {path}: {error.strerror}. It stays as it was.") from error
    return Listed(folders)


@define
class Trust:
    """Asked before anything of the user's runs. The list is read each time: it may be changed in a terminal while the server runs."""

    path: Path = field(factory=default_path)
    _said: dict[str, bool] = field(factory=dict[str, bool])

    def say(self, folder: str, trusted: bool) -> None:
        """The editor's own word for a folder and what is below it; kept in memory. It comes before the list, which may only take away."""
        self._said[os.path.realpath(folder)] = trusted

    def allows(self, path: str) -> bool:
        """Whether code of that file or folder may run. Links are followed: a link to elsewhere is as trusted as elsewhere."""
        return not self.refusal(path)

    def environment(self) -> dict[str, str]:
        """For the process of a run, which finds what it runs by itself: tests of other folders, too."""
        return as_environment([self._said, read(self.path).folders])

    def refusal(self, path: str) -> str:
        """Why it may not run, in one sentence; "" where it may."""
        if not is_file(path):
            return f"{os.path.basename(path)} is no file, so nothing of it can be run: save it first."
        real = os.path.realpath(path)
        listed = read(self.path)
        if listed.problem and permitted([self._said], real) is not False:
            return listed.problem  # also where the editor trusts it: the list may take that away
        if permitted([self._said, listed.folders], real):
            return ""
        folder = real if os.path.isdir(real) else os.path.dirname(real)
        return (
            f"Nothing is run in {folder}, because that folder isn't trusted: trust it in your editor, or with `kernelband trust {folder}`."
        )


def _problem(path: Path, why: str) -> str:
    return f"The list of trusted folders, {path}, can't be used ({why}), so nothing is trusted: fix it, or delete it and trust anew."

"""What a person says once for all their runs: Python, worker and GPU where nothing nearer names one. In their own configuration."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any, cast

import attrs
import platformdirs
from attrs import frozen

from kernelband.errors import UsageError
from kernelband.source.private import write_private

NAMES = ("python", "worker", "gpu")


def default_path() -> Path:
    """Never in a workspace: it names what runs."""
    return platformdirs.user_config_path("kernelband") / "config.json"


@frozen
class Defaults:
    """``python`` is that of ``worker``, the command in front of it, or of this machine. ``gpu``: to predict for. None: not said."""

    python: str | None = None
    worker: str | None = None
    gpu: str | None = None

    def get(self, name: str) -> str | None:
        """That of ``NAMES``."""
        return cast("str | None", getattr(self, name))

    def put(self, name: str, value: str | None) -> Defaults:
        """That one of ``NAMES`` from now on; None: no longer said."""
        return attrs.evolve(self, **{name: value})

    @property
    def problem(self) -> str:
        """Why these can't be used, "" where they can. A relative path would name a file of whatever folder a command is typed in."""
        for name in NAMES:
            value = self.get(name)
            if value is not None and (not value.strip() or "\0" in value):
                return f"{name} is {value!r}, which names nothing"
        try:
            words = shlex.split(self.worker or "")
        except ValueError as error:
            return f"worker can't be split into words: {error}"
        if words and _is_relative(words[0]):
            return f"worker begins with {words[0]}, which depends on the folder: give its full path"
        if self.python and not words and _is_relative(os.path.expanduser(self.python)):
            return f"python is {self.python}, which depends on the folder: give its full path"
        return ""

    def under(self, *, worker: str | None, python: str | None, gpu: str | None) -> Defaults:
        """What holds where these are said: None is not said, "" says none.

        Python and GPU go with the worker that they were set beside. So none of the three counts where another is said, also the same.
        """
        rest = self if worker is None else Defaults()
        said = {"worker": worker, "python": python, "gpu": gpu}
        return Defaults(**{name: rest.get(name) if value is None else value or None for name, value in said.items()})


def read(path: Path | None = None) -> Defaults:
    """What was said; no file yet says nothing.

    Raises:
        UsageError: the file can't be read or understood: what it names must not be passed over, or something else would run.
    """
    path = path or default_path()
    try:
        found: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Defaults()
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _unusable(path, "it is not JSON") from error
    if not isinstance(found, dict):
        raise _unusable(path, "it holds no object")
    values = cast("dict[str, Any]", found)
    for name, value in values.items():
        if name not in NAMES:
            raise _unusable(path, f"it names {name!r}, and the settings are {', '.join(NAMES)}")
        if not isinstance(value, str):
            raise _unusable(path, f"{name} is {value!r} and should be a text")
    defaults = Defaults(**values)
    if defaults.problem:
        raise _unusable(path, defaults.problem)
    return defaults


def read_usable(path: Path | None = None) -> Defaults:
    """As ``read``; a file that can't be understood says nothing. For what is only shown: a run reads it anew, and says what is wrong."""
    try:
        return read(path)
    except UsageError:
        return Defaults()


def write(defaults: Defaults, path: Path | None = None) -> None:
    """Keep them, whole or not at all, for the user only.

    Raises:
        UsageError: the folder can't be written; they stay as they were.
    """
    path = path or default_path()
    values = {name: value for name in NAMES if (value := defaults.get(name)) is not None}
    try:
        write_private(path, json.dumps(values, indent=1) + "\n")
    except OSError as error:
        raise UsageError(f"The setting can't be kept in {path}: {error.strerror}. Nothing was changed.") from error


def _is_relative(program: str) -> bool:
    """A name alone is looked up on PATH."""
    return bool(os.path.dirname(program)) and not os.path.isabs(program)


def _unusable(path: Path, why: str) -> UsageError:
    return UsageError(f"The settings of `kernelband config`, {path}, can't be used ({why}): fix the file, or delete it and set them again.")

"""What a repository says about its runs: ``[tool.kernelband]`` of the nearest ``pyproject.toml`` above a file.

A repository is anybody's. It may say what shows its kernels at work, how long to search and what an edit may change; it may not name what
runs or is reached: interpreter, worker command, hosts, addresses, keys, database. What it may not say is passed over and told.
"""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any, cast

from attrs import field, frozen

FILE = "pyproject.toml"
SECTION = "tool.kernelband"
MAX_BYTES = 1_000_000
#: What only the user may say: in settings of the editor, options of the command line, variables of the environment.
OWN = {
    "python": "which Python runs",
    "worker": "which command is run",
    "workers": "which commands are run",
    "gpu": "which device is used",
    "device": "which device is used",
    "host": "which host is reached",
    "hosts": "which hosts are reached",
    "url": "which address is asked",
    "base-url": "which address is asked",
    "model": "which model is asked",
    "author": "whether a model is asked",
    "key": "which key is sent",
    "api-key": "which key is sent",
    "db": "where the history is",
    "trust": "what is trusted",
    "inspect": "whether something runs when a file is saved",
}


@frozen
class Problem:
    """A key that isn't taken, and why, in one sentence. ``line`` counts from 0."""

    line: int
    key: str
    message: str


@frozen
class Configuration:
    """``path``: of the file, "" where there is none. ``entry`` has the whole path of its file."""

    path: str = ""
    entry: str | None = None
    trials: int | None = None
    seconds: float | None = None
    objective: str | None = None
    allow_lower_precision: bool = False
    problems: tuple[Problem, ...] = field(default=())


def configuration_of(path: str) -> Configuration:
    """Of the repository around a file; an empty one where it says nothing.

    Args:
        path: of a file or a folder, absolute.
    """
    found = _nearest(path)
    if found is None:
        return Configuration()
    try:
        if found.stat().st_size > MAX_BYTES:
            return Configuration(str(found), problems=(Problem(0, "", f"{found} is too large to be read, so it is ignored."),))
        return read_configuration(str(found), found.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return Configuration(str(found), problems=(Problem(0, "", f"{found} can't be read ({error}), so it is ignored."),))


def read_configuration(path: str, text: str) -> Configuration:
    """Of that text of that file."""
    if "kernelband" not in text:
        return Configuration(path)
    try:
        tables: Any = _toml()(text)
    except ImportError:
        why = "Python before 3.11 reads no TOML without the package tomli"
        return Configuration(path, problems=(Problem(0, "", f"[{SECTION}] of {path} is ignored: {why}."),))
    except ValueError as error:
        return Configuration(path, problems=(Problem(0, "", f"{path} isn't TOML ({error}), so it is ignored."),))
    table: Any = tables.get("tool", {})
    table = cast("dict[str, Any]", table).get("kernelband", {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        return Configuration(path, problems=(_problem(path, text, "", " anything, since it is no table"),))
    good: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in cast("dict[str, Any]", table).items():
        name = key.replace("_", "-")
        refused = _refusal(path, name, value)
        if refused:
            problems.append(_problem(path, text, key, refused))
        else:
            good[name.replace("-", "_")] = _entry(path, value) if name == "entry" else value
    return Configuration(path, **good, problems=tuple(problems))


def _refusal(path: str, name: str, value: object) -> str:
    """Why a key isn't taken; "" where it is."""
    if name in OWN:
        return f", because only the user may say {OWN[name]}"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match name:
        case "entry":
            if not isinstance(value, str) or not value:
                return f" {value!r}: it should be FILE.py::NAME"
            return (
                ""
                if _is_inside(path, _entry(path, value))
                else f" {value!r}: its file lies outside of the folder, which only the user may name"
            )
        case "trials":
            return "" if isinstance(value, int) and number and value > 0 else f" {value!r}: it should be a whole number above 0"
        case "seconds":
            return "" if number and cast("float", value) > 0 else f" {value!r}: it should be a number above 0"
        case "objective":
            return "" if value in ("device", "call") else f" {value!r}: it should be device or call"
        case "allow-lower-precision":
            return "" if isinstance(value, bool) else f" {value!r}: it should be true or false"
        case _:
            return ", which isn't known to this version"


def _entry(path: str, value: str) -> str:
    """With the whole path of its file, which is named from the folder of the configuration."""
    file, colons, name = value.partition("::")
    if not file.endswith(".py"):
        return value
    return os.path.join(os.path.dirname(path), file) + colons + name


def _is_inside(path: str, entry: str) -> bool:
    """A repository names its own programs; links are followed."""
    file = entry.partition("::")[0]
    folder = os.path.realpath(os.path.dirname(path))
    return not file.endswith(".py") or os.path.realpath(file).startswith(os.path.join(folder, ""))


def _problem(path: str, text: str, key: str, why: str) -> Problem:
    line = _line(text, key)
    named = f" {key}" if key else ""
    return Problem(line, key, f"[{SECTION}] of {path} can't set{named}{why}: it is ignored.")


def _line(text: str, key: str) -> int:
    """Of the key in its table, from 0; of the table where the key is written in another way."""
    inside, table = False, 0
    for number, line in enumerate(text.split("\n")):
        if re.match(r"\s*\[", line):
            inside = re.match(r"""\s*\[\s*tool\s*\.\s*["']?kernelband["']?\s*\]""", line) is not None
            table = number if inside else table
        elif inside and key and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
            return number
    return table


def _nearest(path: str) -> Path | None:
    folder = Path(path) if os.path.isdir(path) else Path(path).parent
    for at in (folder, *folder.parents):
        if (at / FILE).is_file():
            return at / FILE
        if (at / ".git").exists():
            return None
    return None


def _toml() -> Any:
    """What reads TOML: Python's own since 3.11, the same as a package before."""
    try:
        return importlib.import_module("tomllib").loads
    except ImportError:
        return importlib.import_module("tomli").loads

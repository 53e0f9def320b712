"""What the user's editor says: where things are, how long a run may take, what is shown.

The same keys come with ``initializationOptions`` and in ``workspace/configuration`` under ``kernelband``. All of them are the user's own:
a repository's files set none of these.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

import attrs
from attrs import field, frozen


@frozen
class Settings:
    """``python``: that has torch and Triton. ``worker``: a command in front of it, such as "ssh box"; ``workers``: others that may be
    chosen for a file, each with the Python behind it ("": python3). ``trials``, ``seconds``: of a run; 60 seconds where neither is said.
    ``diagnostics``: whether hints are shown, or the codes that aren't. ``inspect``: "save" compiles kernels of trusted folders when their
    file is saved; "off" only when asked to, since it runs the user's program. ``line_costs``: whether each line says what it costs.
    ``problems``: whether hints are listed where a client lists problems, too, rather than only marked in the text.
    ``pythons``: by folder (resolved), for files in it, before ``python``.
    ``search``: the command that starts KernelBand's command line; none is this server's own. ``model`` writes variants, too; ``base_url``
    is where it is asked.
    """

    db: str | None = None
    python: str | None = None
    worker: str | None = None
    workers: Mapping[str, str] = field(factory=dict[str, str])
    gpu: str | None = None
    entry: str | None = None
    trials: int | None = None
    seconds: float | None = None
    lens: bool = True
    diagnostics: bool | list[str] = True
    inspect: str = "off"
    line_costs: bool = False
    problems: bool = False
    pythons: Mapping[str, str] = field(factory=dict[str, str])
    search: list[str] = field(factory=list[str])
    model: str | None = None
    base_url: str | None = None


_KINDS: Mapping[str, tuple[type, ...]] = {
    "trials": (int,),
    "seconds": (int, float),
    "lens": (bool,),
    "line_costs": (bool,),
    "problems": (bool,),
    "diagnostics": (bool, list),
    "workers": (dict,),
    "pythons": (dict,),
    "search": (list,),
}
_OWNERS: Mapping[str, str] = {"workers": "worker's command", "pythons": "folder"}
_WORDS: Mapping[str, tuple[str, ...]] = {"inspect": ("off", "save")}


def read_settings(value: object, before: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings from JSON, on top of those before, and one sentence for each key that is of the wrong kind. Unknown keys are passed over:
    they are another version's.
    """
    settings = before or Settings()
    if value is None:
        return settings, []
    if not isinstance(value, dict):
        return settings, ["The settings of kernelband are no object, so the ones before stay."]
    names = {a.name for a in attrs.fields(Settings)}
    problems: list[str] = []
    good: dict[str, Any] = {}
    for key, given in cast("dict[str, Any]", value).items():
        name = _snake(key)
        if name not in names:
            continue
        kinds = _KINDS.get(name, (str,))
        words = _WORDS.get(name)
        if words and given not in (None, *words):
            problems.append(f"kernelband.{key} should be {' or '.join(words)} and is {given!r}: it is left as it was.")
        elif words:
            good[name] = given or words[0]
        elif kinds == (dict,) and isinstance(given, dict) and not _is_words(cast("dict[Any, Any]", given)):
            problems.append(f"kernelband.{key} should hold a Python for each {_OWNERS[name]}, and is {given!r}: it is left as it was.")
        elif name == "search" and isinstance(given, list) and not all(isinstance(x, str) for x in cast("list[Any]", given)):
            problems.append(f"kernelband.{key} should be a command as a list of words, and is {given!r}: it is left as it was.")
        elif given is None or (isinstance(given, kinds) and (bool in kinds or not isinstance(given, bool))):
            good[name] = (given or None) if kinds == (str,) else getattr(Settings(), name) if given is None else given
        else:
            problems.append(f"kernelband.{key} should be a {kinds[-1].__name__} and is {given!r}: it is left as it was.")
    if "pythons" in good:
        good["pythons"] = {_resolved(folder): python for folder, python in good["pythons"].items()}
    return attrs.evolve(settings, **good), problems


def model_environment(settings: Settings, key: str | None) -> dict[str, str]:
    """How the search is told of a model: by its environment, which a worker never sees. Empty without a model."""
    if settings.model is None:
        return {}
    told = {"KERNELBAND_AUTHOR": "both", "KERNELBAND_MODEL": settings.model}
    return told | ({"KERNELBAND_BASE_URL": settings.base_url} if settings.base_url else {}) | ({"KERNELBAND_API_KEY": key} if key else {})


def _is_words(given: Mapping[Any, Any]) -> bool:
    return all(isinstance(x, str) for pair in given.items() for x in pair)


def _resolved(folder: str) -> str:
    """As paths of files are when they are looked up: an editor names a folder as it was opened, perhaps through a link."""
    try:
        return os.path.realpath(folder)
    except ValueError:  # no path can be that, as with a NUL, and so no file is below it
        return folder


def _snake(key: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key)

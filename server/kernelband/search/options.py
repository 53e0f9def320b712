"""What was asked of a run: kept with it, so that ``--resume RUN`` needs nothing else."""

from __future__ import annotations

import re
from typing import Any, Literal

import attrs
from attrs import field, frozen, validators

from kernelband.errors import UsageError
from kernelband.propose import ModelSettings
from kernelband.search.policies import NAMES
from kernelband.strategies import Numerics

Objective = Literal["device", "call"]
AuthorName = Literal["rewriter", "model", "both"]
AUTHORS: tuple[AuthorName, ...] = ("rewriter", "model", "both")

TEXTS = frozenset({"overlays", "edited"})  # kept as texts, not with the options


#: What an option may be, and how the refusal lists it.
KNOWN = {
    "policy": (NAMES, f"one of {', '.join(NAMES)}"),
    "objective": (("device", "call"), "device (time on the GPU) or call (time of the whole call)"),
    "author": (AUTHORS, f"one of {', '.join(AUTHORS)}"),
}


def _is_known(_: object, option: attrs.Attribute[Any], value: Any) -> None:
    names, listed = KNOWN[option.name]
    if value not in names:
        raise UsageError(f"There is no {option.name} {value!r}: choose {listed}.")


@frozen
class Options:
    """The options of ``optimize``. ``path`` is absolute; ``overlays`` maps paths to texts of open buffers.

    ``edited`` asks for no search: these texts, by path, are the one variant that is judged; ``against`` says what the original is.
    """

    path: str
    kernel: str | None = None
    entry: str | None = None
    trials: int | None = None
    seconds: float | None = None
    gpu: str | None = None
    worker: str | None = None
    python: str | None = None
    policy: str = field(default="kernelband", validator=_is_known)
    objective: Objective = field(default="device", validator=_is_known)
    seed: int = field(default=0, validator=validators.instance_of(int))
    allowed: tuple[Numerics, ...] = ("exact", "reassociates")
    author: AuthorName = field(default="rewriter", validator=_is_known)
    model: ModelSettings | None = None  # of authors ``model`` and ``both``
    overlays: dict[str, str] = field(factory=dict[str, str], repr=False)
    edited: dict[str, str] = field(factory=dict[str, str], repr=False)
    against: str = ""

    def to_json(self) -> dict[str, Any]:
        """For the run's row. The texts of overlays stand with the run's base texts; secrets in a worker's command are left out."""
        out = attrs.asdict(self, filter=lambda a, _: a.name not in TEXTS)
        out["overlaid"] = sorted(self.overlays)
        out["worker"] = _without_secrets(self.worker)
        return out

    @classmethod
    def from_json(cls, value: dict[str, Any], texts: dict[str, str]) -> Options:
        """The inverse; ``texts`` are the run's base texts."""
        known = {a.name for a in attrs.fields(cls)} - TEXTS
        given = {k: v for k, v in value.items() if k in known}
        given["allowed"] = tuple(given.get("allowed", ()))
        given["model"] = ModelSettings.from_json(given["model"]) if given.get("model") else None
        return cls(**given, overlays={p: texts[p] for p in value.get("overlaid", []) if p in texts})


def _without_secrets(command: str | None) -> str | None:
    if command is None:
        return None
    return re.sub(r"((?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY)\w*=)\S+", r"\1…", command, flags=re.IGNORECASE)

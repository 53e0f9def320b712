"""What a person chose for a kernel: the entry that shows it at work, and the device of its file. Kept in their own state folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import platformdirs
from attrs import evolve, field, frozen

from kernelband.errors import UsageError
from kernelband.source.private import write_private


def default_path() -> Path:
    """Never in a workspace: a choice names what runs."""
    return platformdirs.user_state_path("kernelband") / "choices.json"


@frozen
class Device:
    """``worker``: the command in front of the Python that has it, "" for this machine. ``gpu``: to predict for, "" to measure."""

    worker: str = ""
    gpu: str = ""


@frozen
class Choices:
    """``entries`` by ``PATH::KERNEL``, ``devices`` by path; what was never chosen isn't there."""

    entries: Mapping[str, str] = field(factory=dict[str, str])
    devices: Mapping[str, Device] = field(factory=dict[str, Device])

    def entry(self, path: str, kernel: str) -> str | None:
        """As ``--entry`` takes it."""
        return self.entries.get(f"{path}::{kernel}")

    def with_entry(self, path: str, kernel: str, entry: str | None) -> Choices:
        """That entry from now on; None: the best by itself again."""
        others = {k: v for k, v in self.entries.items() if k != f"{path}::{kernel}"}
        return evolve(self, entries={**others, f"{path}::{kernel}": entry} if entry is not None else others)

    def with_device(self, path: str, device: Device | None) -> Choices:
        """That device from now on; None: as the settings say again."""
        others = {k: v for k, v in self.devices.items() if k != path}
        return evolve(self, devices={**others, path: device} if device is not None else others)


def read(path: Path | None = None) -> Choices:
    """What was chosen. A file that can't be understood holds nothing: all it can lose is asked again."""
    try:
        found: Any = json.loads((path or default_path()).read_bytes())
        entries: dict[str, Any] = dict(cast("dict[str, Any]", found["entries"]))
        devices: dict[str, Any] = dict(cast("dict[str, Any]", found["devices"]))
        return Choices(
            {k: v for k, v in entries.items() if isinstance(v, str)},
            {k: Device(str(v["worker"]), str(v["gpu"])) for k, v in devices.items()},
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Choices()


def write(choices: Choices, path: Path | None = None) -> None:
    """Keep them, whole or not at all, for the user only.

    Raises:
        UsageError: the folder can't be written; the choice isn't kept.
    """
    path = path or default_path()
    devices = {k: {"worker": d.worker, "gpu": d.gpu} for k, d in sorted(choices.devices.items())}
    text = json.dumps({"entries": dict(sorted(choices.entries.items())), "devices": devices}, indent=1) + "\n"
    try:
        write_private(path, text)
    except OSError as error:
        raise UsageError(f"The choice can't be saved in {path}: {error.strerror}. It isn't used.") from error

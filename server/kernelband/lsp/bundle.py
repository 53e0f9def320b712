"""What a report of a problem needs: versions, the client and what it can, settings, the log; nothing that says whose it is."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any

import attrs
from lsprotocol import types
from pygls.capabilities import get_capability

from kernelband import __version__
from kernelband.errors import HistoryError
from kernelband.history import Store, runs
from kernelband.lsp.anonymous import Private, without
from kernelband.lsp.settings import Settings

PACKAGES = ("pygls", "lsprotocol", "parso", "sqlite-utils", "attrs", "cattrs")
#: What of a client decides how it is served.
MATTERS = (
    "workspace.apply_edit",
    "workspace.workspace_edit.document_changes",
    "workspace.configuration",
    "workspace.workspace_folders",
    "workspace.code_lens.refresh_support",
    "workspace.text_document_content.dynamic_registration",
    "text_document.code_action.resolve_support.properties",
    "text_document.hover.content_format",
    "window.show_document.support",
    "window.work_done_progress",
    "general.position_encodings",
)


def bundle(
    client: types.ClientInfo | None,
    capabilities: types.ClientCapabilities,
    settings: Settings,
    history: Mapping[str, str],
    *,
    log: Sequence[str],
    private: Private,
) -> str:
    """The text.

    Args:
        client: as it named itself.
        capabilities: what it said that it can.
        settings: of the user.
        history: as ``last_seen`` tells.
        log: the last lines.
        private: what is left out.
    """
    parts = {
        "versions": versions(),
        "worker, as last seen": dict(history),
        "client": {
            "name": f"{client.name} {client.version or ''}".strip() if client is not None else "not named",
            **_abilities(capabilities),
        },
        "settings": _settings(settings),
    }
    out = [line for title, facts in parts.items() for line in (f"[{title}]", *(f"{k}: {v}" for k, v in facts.items()), "")]
    return without("\n".join([*out, "[log]", *(log or ["nothing"])]) + "\n", private)


def versions() -> dict[str, str]:
    """Of this process."""
    found = {"KernelBand": __version__, "Python": f"{platform.python_implementation()} {platform.python_version()}"}
    found |= {"platform": " ".join((platform.system(), platform.release(), platform.machine()))}  # ``platform()`` would start uname
    found |= {"SQLite": sqlite3.sqlite_version}
    return found | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # vendored without its metadata
        return "unknown"


def last_seen(db: Path) -> dict[str, str]:
    """What the newest run says of its worker. Reads the history: for a thread."""
    try:
        with Store.read(db) as store:
            newest = runs.listing(store, limit=1)
    except HistoryError as error:
        return {"history": error.message}
    if not newest:
        return {"history": "no run"}
    run, known = newest[0], newest[0].environment
    told = {name: str(known[name]) for name in ("python", "torch", "triton", "ptxas", "driver") if known.get(name)}
    return {**told, "device": run.device, "mode": run.mode, "state": run.state, "by KernelBand": run.version}


def _abilities(capabilities: types.ClientCapabilities) -> dict[str, str]:
    return {name: _plain(get_capability(capabilities, name)) for name in MATTERS}


def _plain(value: object) -> str:
    return ", ".join(str(getattr(x, "value", x)) for x in value) if isinstance(value, (list, tuple)) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _settings(settings: Settings) -> dict[str, str]:
    """Numbers and switches as they are; of the rest no more than helps."""
    return {name: _shortened(name, value) for name, value in attrs.asdict(settings).items()}


def _shortened(name: str, value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return "not set" if value is None else str(value)
    if name == "gpu":
        return str(value)
    if name == "python":
        return PurePath(str(value)).name
    if name == "worker":  # the words after the first name machines and users
        return f"{PurePath(str(value).split(maxsplit=1)[0]).name} \u2026" if str(value).strip() else "set"
    return "set"

"""Settings of one folder of several, asked for when they are needed (``workspace/configuration``).

An editor also takes them from files of the folder, and doesn't say so. So only what a repository may say is taken for one folder; what runs
and what is reached (``python``, ``worker``) is said for the session.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from kernelband.lsp.index import place
from kernelband.lsp.settings import Settings, read_settings
from kernelband.workload.permission import nearest

if TYPE_CHECKING:
    from kernelband.lsp.server import KernelBandServer

SCOPED = ("entry", "trials", "seconds")
ANSWER_S = 2.0  # for the client's answer; then the session's settings stand

log = logging.getLogger(__name__)


async def settings_of(server: KernelBandServer, uri: str) -> Settings:
    """For that document: the session's, with what its folder has of its own. A key that is null there is the session's."""
    workspace = server.client_capabilities.workspace
    session = with_python(server.settings, place(uri))
    if workspace is None or not workspace.configuration:
        return session
    params = types.ConfigurationParams([types.ConfigurationItem(scope_uri=uri, section="kernelband")])
    try:
        answer: Any = await asyncio.wait_for(server.workspace_configuration_async(params), ANSWER_S)
    except (asyncio.TimeoutError, JsonRpcException) as error:
        log.warning("The client doesn't tell the settings of %s: %s", uri, error or "no answer")
        return session
    answers = [*cast("list[Any]", answer)] if isinstance(answer, (list, tuple)) else []
    given = next(iter(answers), None)
    own = {k: v for k in SCOPED if (v := _get(given, k)) is not None}
    settings, problems = read_settings(own, session)
    for problem in problems:
        log.warning(problem)
    return settings


def with_python(settings: Settings, path: str) -> Settings:
    """With the Python that the user's editor has for the nearest folder above that path, where it has one and runs it on this machine."""
    python = nearest(settings.pythons, path)[1] if settings.worker is None else None
    return attrs.evolve(settings, python=python) if python else settings


def _get(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else getattr(value, name, None)

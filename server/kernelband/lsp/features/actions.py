"""What can be done with the kernel at the cursor: its best variants, what is done most, and the way to everything else."""

from __future__ import annotations

from typing import Any, cast

from attrs import evolve
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from kernelband.errors import KernelBandError, StaleText
from kernelband.explain.words import line
from kernelband.history.view import RunView, VariantView
from kernelband.lsp.diagnoses import Remedy
from kernelband.lsp.features.fixes import fixes, unverified
from kernelband.lsp.features.menu import menu
from kernelband.lsp.inspections import INSPECTION
from kernelband.lsp.refusal import Refused, can_name
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.variant_edit import Wanted, variant_edit
from kernelband.source.model import Kernel

VARIANT = f"{types.CodeActionKind.RefactorRewrite.value}.kernelband"
MOST_ACTIONS = 5  # of a kernel
RUN = f"{types.CodeActionKind.Refactor.value}.kernelband"  # not source: VS Code leaves those out of the lightbulb, and may run them on save


def register(server: KernelBandServer) -> None:
    """``textDocument/codeAction`` and its resolve."""
    options = types.CodeActionOptions(code_action_kinds=[VARIANT, RUN, types.CodeActionKind.QuickFix], resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        view = await server.view(uri)
        if view is None:
            return []
        start, end = (view.offset(p, server.encoding) for p in (params.range.start, params.range.end))
        kernels = [k for k in view.snapshot.kernels if k.span.start <= end and start <= k.span.end]
        found = [action for kernel in kernels for action in actions(server, view.snapshot.uri, kernel)]
        found += await fixes(server, uri, params.range, _variant, _move)
        return [a for a in found if _wanted(a, params.context.only)]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        if action.data is None and action.command is not None:
            return action  # VS Code asks for each action that has no edit, and this one has none to come
        wanted = _data(action.data)
        try:
            wanted = of_inspection(server, wanted) if wanted.run.startswith(INSPECTION) else wanted
            edit = await variant_edit(server.findings, server.open_documents(), wanted, server.encoding)
        except KernelBandError as error:
            raise Refused(error.message) from error
        action.edit = edit
        return action


def of_inspection(server: KernelBandServer, wanted: Wanted) -> Wanted:
    """With what it is of.

    Raises:
        StaleText: that was dropped for a newer one.
    """
    of = server.diagnoses.inspection(wanted.run)
    if of is None:
        raise StaleText(f"{wanted.kernel} was inspected again since then: ask for the quick fixes again.")
    return evolve(wanted, of=of)


def actions(server: KernelBandServer, uri: str, kernel: Kernel) -> list[types.CodeAction]:
    """Of one kernel: what comes first of all that can be done, and the way to the rest."""
    name = kernel.place.qualname
    standing = server.standings.of(uri, name)
    run = standing.finding.telling if standing is not None else None
    items = menu(server, uri, name)
    variants = standing.offers[: max(MOST_ACTIONS - 1 - len(items.first), 1)] if standing is not None and run is not None else ()
    out = [_variant(server, uri, name, run, v) for v in variants if run is not None]
    at = 1 if items.leads else 0
    first = [_run(item.title, item.command, *item.arguments) for item in items.first]
    return [*first[:at], *out, *first[at:], _run(f"More actions for {name}…", "kernelband.server.more", uri, name)]


def _variant(server: KernelBandServer, uri: str, kernel: str, run: RunView, v: VariantView) -> types.CodeAction:
    """With a command where the client lets servers edit: the texts are looked at again then, and it is told which version is meant."""
    action = types.CodeAction(title=line(run.device, v), kind=VARIANT)
    return _edits(server, action, "apply", (uri, kernel, run.id, v.number))


def _move(server: KernelBandServer, uri: str, kernel: str, inspection: str, remedy: Remedy) -> types.CodeAction:
    """Likewise, of a move that an inspection found."""
    return _edits(server, types.CodeAction(title=unverified(remedy.what)), "applyMove", (uri, kernel, inspection, remedy.number))


def _edits(server: KernelBandServer, action: types.CodeAction, name: str, arguments: tuple[str, str, str, int]) -> types.CodeAction:
    workspace = server.client_capabilities.workspace
    if workspace is not None and workspace.apply_edit:
        action.command = _command("Apply", f"kernelband.server.{name}", *arguments)
    else:
        action.data = dict(zip(("uri", "kernel", "run", "number"), arguments, strict=True))
    return action


def _run(title_: str, command: str, *arguments: Any) -> types.CodeAction:
    return types.CodeAction(title=title_, kind=RUN, command=_command(title_, command, *arguments))


def _command(title_: str, command: str, *arguments: Any) -> types.Command:
    return types.Command(title=title_, command=command, arguments=list(arguments))


def _wanted(action: types.CodeAction, only: Any) -> bool:
    kind = str(getattr(action.kind, "value", action.kind))
    kinds = [str(getattr(k, "value", k)) for k in only or ()]
    return not kinds or any(kind == k or kind.startswith(f"{k}.") or not k for k in kinds)


def _data(data: Any) -> Wanted:
    """What ``_variant`` put there.

    Raises:
        JsonRpcInvalidParams: a client made it up.
    """
    given: dict[str, Any] = dict(cast("dict[str, Any]", data)) if isinstance(data, dict) else dict(getattr(data, "__dict__", {}))
    uri, kernel, run, number = (given.get(k) for k in ("uri", "kernel", "run", "number"))
    named = isinstance(uri, str) and isinstance(kernel, str) and isinstance(run, str)
    if named and isinstance(number, int) and not isinstance(number, bool) and all(map(can_name, (uri, kernel, run, number))):
        return Wanted(str(uri), str(kernel), str(run), number)
    raise JsonRpcInvalidParams(message="This code action isn't one of ours: its data should be uri, kernel, run and number.")

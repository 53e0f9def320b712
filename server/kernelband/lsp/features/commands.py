"""``kernelband.server.*``: what lenses, actions and clients of ours call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
from attrs import asdict
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from kernelband.errors import KernelBandError, StaleText, UsageError
from kernelband.explain.words import line
from kernelband.lsp.features import lens, pages, refusals
from kernelband.lsp.features.actions import of_inspection
from kernelband.lsp.features.choose import choose_device, choose_entry, device_of, draft_entry
from kernelband.lsp.features.cursor import kernels_at
from kernelband.lsp.features.environment import environment
from kernelband.lsp.features.inspect import inspect
from kernelband.lsp.features.menu import all_of
from kernelband.lsp.features.pages import compare, explain, reproduce
from kernelband.lsp.features.plan import plan
from kernelband.lsp.features.report import report, run_report
from kernelband.lsp.features.review import accept, decide, reject, review
from kernelband.lsp.features.start import start
from kernelband.lsp.features.verify import optimize_changed, verify
from kernelband.lsp.features.views import forget, kernels, list_runs
from kernelband.lsp.refusal import Refused, can_name
from kernelband.lsp.remedies import of_error, words
from kernelband.lsp.run_request import request, with_budget
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.variant_edit import Wanted, variant_diff, variant_edit

TAKEN_S = 2.0  # until a client's didChange shows the edit that it took
QUIET_S = 0.6  # after which no change will come: some clients wait a moment with it, eglot until it has the answer to the command

Handler = Callable[..., Awaitable[Any]]


def register(server: KernelBandServer) -> None:
    """One command each. What can't be done is told the user once: the client that has asked by itself, and ours, get the request's error;
    for any other it is a message, and the answer is ``{"refused": sentence}``, since Neovim and Emacs show an error again, in its raw form.
    """
    for handler, kinds in COMMANDS.items():
        server.command(_name(handler))(_checked(server, _name(handler), handler, kinds))


def _name(handler: Handler) -> str:
    return f"kernelband.server.{NAMES.get(handler, handler.__name__)}"


def _checked(server: KernelBandServer, name: str, handler: Handler, kinds: tuple[type, ...]) -> Callable[..., Awaitable[Any]]:
    async def command(*arguments: Any) -> Any:
        needed = len(kinds) - len(getattr(handler, "__defaults__", None) or ())
        good = needed <= len(arguments) <= len(kinds) and all(
            isinstance(a, k) and (k is not int or not isinstance(a, bool)) for a, k in zip(arguments, kinds, strict=False)
        )
        if not good:
            wanted = ", ".join(k.__name__ for k in kinds) or "none"
            left_out = f" The last {len(kinds) - needed} may be left out." if needed < len(kinds) else ""
            raise JsonRpcInvalidParams(message=f"{name} takes these arguments: {wanted}.{left_out}")
        if not all(can_name(a) for a in arguments if not isinstance(a, dict)):
            raise JsonRpcInvalidParams(message=f"An argument of {name} isn't a valid URI, name, id or number.")
        try:
            return await handler(server, *(server.documents.program(a) if isinstance(a, str) else a for a in arguments))
        except KernelBandError as error:
            if handler not in QUIET:
                refusals.tell(server, of_error(error), _about(kinds, arguments))
                if not pages.opens_itself(server):
                    return {"refused": words(error.message)}
            raise Refused(words(error.message)) from error

    # pygls asks of the first argument's type whether it is a server: Any is no class before Python 3.11, and every server is an object.
    command.__annotations__.clear()
    return command


def _about(kinds: tuple[type, ...], arguments: tuple[Any, ...]) -> refusals.About:
    """What a command was asked of: those of a kernel take its document, its name and perhaps a run, in this order."""
    told = [a for a, k in zip(arguments, kinds, strict=False) if k is str]
    return refusals.About(*told[:3]) if len(kinds) > 1 else refusals.About()


async def optimize(server: KernelBandServer, uri: str, kernel: str, budget: dict[str, Any] | None = None) -> dict[str, str]:
    """Begin a run of the text on the screen; the live one where there is one. Answers ``{"run": id}`` at once.

    ``budget``: ``trials`` and ``seconds`` of this run, before the settings; one that is null isn't bounded by that.
    """
    asked = await request(server, uri, kernel)
    return {"run": start(server, asked if budget is None else with_budget(asked, budget)).id}


async def resume(server: KernelBandServer, uri: str, kernel: str, run: str) -> dict[str, str]:
    """Continue a run that was cut off, with the text that it began with."""
    return {"run": start(server, await request(server, uri, kernel, resume=run)).id}


async def cancel(server: KernelBandServer, run: str) -> dict[str, str]:
    """Stop a run; what it found is kept. Answers at once: ``kernelband/runChanged`` tells the end."""
    live = server.runs.get(run)
    if live is None:
        raise UsageError(f"Run {run} was not started here, so it can't be stopped here: stop it where it was started.")
    server.begin(server.runs.cancel(run))
    return {"run": run}


async def stop_all(server: KernelBandServer) -> dict[str, list[str]]:
    """Stop every run of this server, and begin none that was to follow."""
    for batch in server.batches:
        batch.cancel()
    live = [r.id for r in server.runs.live]
    server.begin(server.runs.cancel_all())
    return {"runs": live}


async def apply(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:
    """Put a variant into the client's documents, as one edit, if their texts are what it was made for."""
    await _put(server, Wanted(uri, kernel, run, number), f"KernelBand: variant {number} of run {run}")
    try:
        await asyncio.to_thread(decide, server.findings.db, run, number, "accept")
    except KernelBandError as error:  # the text has it all the same
        why = of_error(error)
        said = attrs.evolve(why, message=f"Variant {number} is applied, but the decision was not recorded: {why.message}")
        refusals.tell(server, said, refusals.About(uri, kernel, run), types.MessageType.Warning)
    return {"applied": True}


async def apply_move(server: KernelBandServer, uri: str, kernel: str, inspection: str, number: int) -> dict[str, Any]:
    """Put a move in that an inspection found: an edit like a person's own, which ``verify`` judges."""
    await _put(server, of_inspection(server, Wanted(uri, kernel, inspection, number)), "KernelBand: a move that isn't verified")
    return {"applied": True}


async def revert(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:
    """Restore the original where that variant is."""
    await _put(server, Wanted(uri, kernel, run, number, revert=True), "KernelBand: the original")
    return {"applied": True}


async def _put(server: KernelBandServer, wanted: Wanted, label: str) -> None:
    """One edit, once more if somebody typed in between."""
    for _ in range(2):
        edit = await variant_edit(server.findings, server.open_documents(), wanted, server.encoding)
        if _is_current(server, edit):
            break
    else:
        raise StaleText("The document changed while the edit was made: try again.")
    expected = {d.uri: _after(server, d.uri, edit) for d in server.documents.texts}
    versions = {d.uri: d.version for d in server.documents.texts}
    done = await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, label))
    if not done.applied:
        reason = f": {done.failure_reason}" if done.failure_reason else ""
        raise StaleText(f"The editor did not accept the edit{reason}.")
    began = time.monotonic()
    while other := [d for d in server.documents.texts if d.source != expected.get(d.uri, d.source)]:
        waited = time.monotonic() - began
        if waited > QUIET_S and all(d.version == versions.get(d.uri) for d in other):
            return  # its word counts
        if waited > TAKEN_S:  # Neovim 0.7 says that it took an edit of an older text, and leaves it out
            raise StaleText("The editor's text isn't the result of the edit: it changed in between, so try again.")
        await asyncio.sleep(0.02)


def _after(server: KernelBandServer, uri: str, edit: types.WorkspaceEdit) -> str:
    """The document's text with its edits."""
    document = next(d for d in server.documents.texts if d.uri == uri)
    lines = document.text_lines
    changes = [c for c in edit.document_changes or () if isinstance(c, types.TextDocumentEdit) and c.text_document.uri == uri]
    spans = [(lines.span(e.range, server.encoding), e.new_text) for c in changes for e in c.edits if isinstance(e, types.TextEdit)]
    for span, new in sorted(spans, key=lambda x: x[0].start, reverse=True):
        lines = lines.replaced(span, new)
    return lines.text


def _is_current(server: KernelBandServer, edit: types.WorkspaceEdit) -> bool:
    versions = {d.uri: d.version for d in server.documents.texts}
    changes = [c for c in edit.document_changes or () if isinstance(c, types.TextDocumentEdit)]
    return all(c.text_document.version is None or versions.get(c.text_document.uri) == c.text_document.version for c in changes)


async def patch(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> str:
    """The variant against the texts of now, as ``git apply`` takes it. Shown, too, unless the client does something with the answer."""
    text = await asyncio.to_thread(variant_diff, server.findings, Wanted(uri, kernel, run, number), server.open_texts())
    if not pages.opens_itself(server):
        await pages.show_text(server, f"{kernel}.diff", text)
    return text


async def choose(server: KernelBandServer, uri: str, kernel: str) -> dict[str, Any]:
    """Let a person pick one of the best variants, in any client, and put it in. Of one that is in, the report is shown."""
    standing = server.standings.of(uri, kernel)
    run = standing.finding.telling if standing is not None else None
    if standing is None or run is None or not run.trials:
        raise UsageError(f"There is no variant of {kernel} to apply: optimize it first.")
    if standing.taken is not None:
        return {"applied": False, **await explain(server, uri, kernel, run.id, standing.taken.number)}
    if standing.stale:
        raise StaleText(standing.stale)
    offers = {line(run.device, v): v for v in standing.offers[:3]}
    if not offers:
        raise UsageError(f"There is no variant of {kernel} to apply. Run {run.id} ended with: {run.reason or lens.result(standing)}.")
    picked = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            types.MessageType.Info, f"Which variant of {kernel}? Choose the one to apply.", [types.MessageActionItem(t) for t in offers]
        )
    )
    variant = offers.get(picked.title) if picked is not None else None
    return await apply(server, uri, kernel, run.id, variant.number) if variant is not None else {"applied": False}


async def more(server: KernelBandServer, uri: str, kernel: str) -> dict[str, Any]:
    """All that can be done with a kernel, to choose from. Answers ``{"items": [{"title", "command", "arguments"}]}``: a client that can't
    show them itself has asked for one, and done it.
    """
    items = {item.title: item for item in all_of(server, uri, kernel)}
    if not pages.opens_itself(server):
        buttons = [types.MessageActionItem(said) for said in items]
        picked = await server.window_show_message_request_async(
            types.ShowMessageRequestParams(types.MessageType.Info, f"What do you want to do with {kernel}?", buttons)
        )
        if picked is not None and picked.title in items:
            item = items[picked.title]
            await next(h for h in COMMANDS if item.command == _name(h))(server, *item.arguments)
    return {"items": [asdict(item) for item in items.values()]}


#: Handlers with the kinds of their arguments.
COMMANDS: dict[Handler, tuple[type, ...]] = {
    optimize: (str, str, dict),
    resume: (str, str, str),
    cancel: (str,),
    stop_all: (),
    apply: (str, str, str, int),
    apply_move: (str, str, str, int),
    revert: (str, str, str, int),
    review: (str, str, str, int),
    accept: (str, int),
    reject: (str, int),
    patch: (str, str, str, int),
    report: (str, str, str),
    choose: (str, str),
    more: (str, str),
    choose_entry: (str, str, str),
    draft_entry: (str, str),
    choose_device: (str, str),
    device_of: (str,),
    plan: (str, str),
    verify: (str, str, dict),
    optimize_changed: (str,),
    inspect: (str, str),
    kernels_at: (str, int, int),
    compare: (str, str, str, int),
    explain: (str, str, str, int),
    reproduce: (str, str, str, int),
    run_report: (str,),
    kernels: (),
    list_runs: (int,),
    forget: (str,),
    environment: (str, bool),
}
#: What views ask by themselves: what can't be done is the request's error only, and no message.
QUIET: frozenset[Handler] = frozenset({run_report, kernels, list_runs, environment, plan})
#: Those that aren't called like their handlers.
NAMES: dict[Handler, str] = {
    apply_move: "applyMove",
    choose_entry: "chooseEntry",
    draft_entry: "draftEntry",
    choose_device: "chooseDevice",
    optimize_changed: "optimizeChanged",
    kernels_at: "kernelsAt",
    run_report: "runReport",
    list_runs: "runs",
    device_of: "deviceOf",
}

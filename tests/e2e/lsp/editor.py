"""An editor as the server sees one: a real server process, a client with a real editor's capabilities, and its own copy of the text."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, Union

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from kernelband.lsp.text import Lines
from tests.e2e.cli_world import Home

PROFILES = ("visual_studio_code", "neovim@v0.11")
#: Only something broken takes so long, on the busiest machine too.
LONG_S, RUN_S = 360.0, 700.0
T = TypeVar("T")


class RefusedHere(Exception):
    """The server's sentence on a command that can't be done."""


class Editor:
    """One open file, edited as the server asks and as a person types. Encoding is UTF-16 unless the profile says otherwise."""

    def __init__(self, client: LanguageClient, home: Home, result: types.InitializeResult, registered: list[types.Registration]) -> None:
        self.client, self.home, self.result, self.registered = client, home, result, registered
        self.encoding = result.capabilities.position_encoding or types.PositionEncodingKind.Utf16
        self.uri = home.file.as_uri()
        self.text, self.version = "", 0
        self.messages: list[str] = []
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        self.changes: list[Any] = []
        self.refuses = ""
        self.picks: int | str | None = None  # of what a message offers: the one at that place, or the first that begins so
        client.feature(types.WORKSPACE_APPLY_EDIT)(lambda params: self._apply(params))  # noqa: PLW0108 - pygls writes on what it gets
        client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(lambda params: self._pick(params))  # noqa: PLW0108 - the same
        self.redraw = asyncio.Event()  # the server wants its lenses drawn anew
        client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(lambda _: self.redraw.set())
        client.feature("kernelband/runChanged")(lambda params: self.changes.append(params))  # noqa: PLW0108 - the same

    def open(self, text: str | None = None) -> None:
        """The file, or an unsaved text of it."""
        self.text, self.version = self.home.file.read_text() if text is None else text, 1
        item = types.TextDocumentItem(self.uri, "python", self.version, self.text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, old: str, new: str) -> None:
        """Replace the first ``old``."""
        start = self.text.index(old)
        lines = Lines(self.text)
        where = types.Range(lines.position(start, self.encoding), lines.position(start + len(old), self.encoding))
        self.text = self.text.replace(old, new, 1)
        self._changed(types.TextDocumentContentChangePartial(where, new))

    def put_text(self, text: str) -> None:
        """All of it, as one change."""
        self.text = text
        self._changed(types.TextDocumentContentChangeWholeDocument(text))

    def _changed(self, *changes: Any) -> None:
        self.version += 1
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, list(changes)))

    def _apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        self.edits.append(params)
        if self.refuses:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason=self.refuses)
        (change,) = params.edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        if change.text_document.version != self.version:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the document has changed")
        self.put(change)
        return types.ApplyWorkspaceEditResult(applied=True)

    def _pick(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        if isinstance(self.picks, str):
            return next(a for a in params.actions or () if a.title.startswith(self.picks))
        return params.actions[self.picks] if self.picks is not None and params.actions else None

    def put(self, change: types.TextDocumentEdit) -> None:
        """The edits of a document, as one."""
        lines = Lines(self.text)
        spans = [(lines.span(e.range, self.encoding), e) for e in change.edits]
        for span, edit in sorted(spans, key=lambda x: x[0].start, reverse=True):
            assert isinstance(edit, types.TextEdit)
            self.text = self.text[: span.start] + edit.new_text + self.text[span.end :]
        self.put_text(self.text)

    # ------------------------------------------------------------ asking

    def at(self, word: str) -> types.Position:
        """Where a word first stands."""
        return Lines(self.text).position(self.text.index(word), self.encoding)

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    async def lenses(self) -> list[str]:
        found = await self.client.text_document_code_lens_async(types.CodeLensParams(self.document))
        return [lens.command.title for lens in found or () if lens.command is not None]

    async def hover(self, word: str) -> str:
        found = await self.client.text_document_hover_async(types.HoverParams(self.document, self.at(word)))
        return found.contents.value if found is not None and isinstance(found.contents, types.MarkupContent) else ""

    async def actions(self, word: str) -> list[types.CodeAction]:
        at = self.at(word)
        params = types.CodeActionParams(self.document, types.Range(at, at), types.CodeActionContext([]))
        return [a for a in await self.client.text_document_code_action_async(params) or () if isinstance(a, types.CodeAction)]

    async def command(self, name: str, *arguments: Any) -> Any:
        return await self.execute(types.Command("", f"kernelband.server.{name}", arguments=list(arguments)))

    async def execute(self, command: types.Command | None) -> Any:
        """What it answers.

        Raises:
            RefusedHere: it can't be done.
        """
        assert command is not None
        answer = await self.client.workspace_execute_command_async(types.ExecuteCommandParams(command.command, command.arguments))
        if isinstance(answer, dict) and "refused" in answer:
            raise RefusedHere(answer["refused"])
        return answer

    async def eventually(self, look: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = LONG_S) -> Any:
        """Ask until the answer is wanted."""
        begin = time.monotonic()
        while not wanted(found := await look()):
            waited = time.monotonic() - begin
            assert waited < seconds, f"after {seconds} s still {found!r}; known is {await self._known()}"
            await asyncio.sleep(0.03 if waited < 1 else 0.2)  # to look costs time that what is waited for needs
        return found

    async def _known(self) -> list[Any]:
        """What the server says of the file's kernels, for a test that fails."""
        names = dict.fromkeys(kernel["kernel"] for kernel in (await self.command("kernels"))["kernels"])
        return [await self.command("report", self.uri, name) for name in names]

    async def ended(self, run: str, seconds: float = RUN_S) -> Any:
        """The last that is said of a run."""

        async def last() -> Any:
            return next((c for c in reversed(self.changes) if c.run == run), None)

        return await self.eventually(last, lambda c: c is not None and c.state != "running", seconds)

    async def optimized(self) -> str:
        """Search, to the end."""
        run = (await self.command("optimize", self.uri, "scale_kernel"))["run"]
        end = await self.ended(run)
        assert end.state == "finished", end
        return run


@asynccontextmanager
async def editor(
    home: Home,
    profile: str,
    *,
    trusted: bool = True,
    command: Sequence[str] = (sys.executable, "-m", "kernelband"),
    env: Mapping[str, str] | None = None,
    adapt: Callable[[types.InitializeParams], None] = lambda _: None,
    **options: Any,
) -> AsyncGenerator[Editor, None]:
    """A server on the home's database, started in its workspace, and an editor of that profile that has begun a session.

    ``adapt`` changes what the editor says of itself.
    """
    client = make_test_lsp_client()
    _tell_apart(client.protocol._converter)
    registered: list[types.Registration] = []
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: registered.extend(params.registrations))
    await client.start_io(*command, "lsp", "--stdio", "--db", str(home.db), env={**home.environment, **(env or {})}, cwd=str(home.work))
    folder = types.WorkspaceFolder(home.work.as_uri(), "work")
    params = types.InitializeParams(
        capabilities=client_capabilities(profile),
        workspace_folders=[folder],
        root_uri=folder.uri,
        initialization_options={"python": home.python, **options},
    )
    adapt(params)
    result = await client.initialize_session(params)
    if trusted:
        client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": folder.uri, "trusted": True}]})
    try:
        yield Editor(client, home, result, registered)
    finally:
        await client.shutdown_session()
        await client.stop()


def _tell_apart(converter: Any) -> None:
    """lsprotocol 2025 takes a code action that has a command for a command."""

    def structure(value: Any, _: Any) -> Any:
        return converter.structure(value, types.Command if isinstance(value.get("command"), str) else types.CodeAction)

    converter.register_structure_hook(Union[types.Command, types.CodeAction], structure)  # noqa: UP007 - lsprotocol's own spelling

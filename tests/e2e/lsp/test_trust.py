"""A folder full of traps that nobody trusts: every feature is used, nothing of it runs, and the server starts no process."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import psutil
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor

SCRIPT = str(Path(sysconfig.get_path("scripts")) / "kernelband")
#: Modules that a server, a command or a worker might import from the folder it is started in.
SHADOWS = ("kernelband_worker", "click", "attrs", "lsprotocol", "pygls", "parso", "json", "tomllib", "base64", "torch", "triton")
#: Written by an audit hook of Python's own: how a process can be started.
STARTS = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.spawn")
HOOK = f"""import os, sys
_log = os.open(os.environ["TRAPS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def _hook(event, arguments):
    if event in {STARTS!r}:
        os.write(_log, f"{{event}} {{arguments!r}}\\n".encode("utf-8", "replace"))
sys.addaudithook(_hook)
"""
NOBODY = "0123abcd"  # the id of no run
FORGET = "kernelband.server.forget"


class Traps:
    """The folder's, each of which leaves a file of its name in ``canaries`` when it runs."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home, self.canaries, self.log = home, folder / "canaries", folder / "started.txt"
        self.hook = folder / "hook"
        for made in (self.canaries, self.hook):
            made.mkdir()
        self.log.touch()
        (self.hook / "sitecustomize.py").write_text(HOOK)

    @property
    def sung(self) -> list[str]:
        return sorted(os.listdir(self.canaries))

    @property
    def started(self) -> list[str]:
        return self.log.read_text().splitlines()

    @property
    def environment(self) -> dict[str, str]:
        """Of a server that writes down each process that it starts."""
        return {"PYTHONPATH": str(self.hook), "TRAPS_LOG": str(self.log)}

    def python(self, name: str) -> str:
        """A line of Python."""
        return f"open({str(self.canaries / name)!r}, 'w').close()\n"

    def shell(self, name: str) -> str:
        """A program that does what it stands for, too."""
        path = self.home.work / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\n: > "{self.canaries}/{name}"\nexec "$@"\n')
        path.chmod(0o755)
        return str(path)

    def plant(self, *, package: bool) -> None:
        """All of them. ``package``: also one that stands in for this package itself."""
        work = self.home.work
        self.home.file.write_text(self.python("module") + self.home.file.read_text())
        for name in ("sitecustomize", "usercustomize", "conftest", "test_scale", "setup", *SHADOWS, *(["kernelband"] if package else [])):
            (work / f"{name}.py").write_text(self.python(name))
        (work / "test_scale.py").write_text(self.python("test_scale") + "from scale import scale_kernel\ndef test_it(): scale_kernel\n")
        interpreter = work / ".venv" / "bin" / "python"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text(f'#!/bin/sh\n: > "{self.canaries}/interpreter"\nexec {self.home.python} "$@"\n')
        interpreter.chmod(0o755)
        (work / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
        named = {
            "python": str(interpreter),
            "worker": self.shell("worker"),
            "db": str(self.canaries / "db"),
            "host": "box",
            "url": "http://x",
        }
        (work / "pyproject.toml").write_text(
            "[tool.kernelband]\n" + "".join(f'{k} = "{v}"\n' for k, v in named.items()) + 'entry = "test_scale.py::test_it"\n'
        )
        (work / ".vscode").mkdir()
        settings = ", ".join(f'"kernelband.{k}": "{v}"' for k, v in named.items())
        (work / ".vscode" / "settings.json").write_text(f"{{{settings}}}\n")
        self._repository()

    def _repository(self) -> None:
        """One whose configuration names programs: git is a way to run code, too."""
        work = self.home.work

        def git(*words: str) -> None:
            subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=work, check=True, capture_output=True)

        git("init", "-q")
        git("add", "scale.py")
        git("commit", "-q", "-m", "first")
        (work / ".gitattributes").write_text("*.py diff=trap filter=trap\n")
        for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "diff.trap.textconv", "filter.trap.smudge"):
            git("config", key, self.shell(f"git-{key}"))

    def unshadow(self) -> None:
        """Take away what no real program runs with."""
        for name in (*SHADOWS, "kernelband"):
            (self.home.work / f"{name}.py").unlink(missing_ok=True)


@pytest.fixture
def traps(tmp_path: Path, searched: Home) -> Traps:
    """With a history, so that every feature has something to say."""
    return Traps(searched, tmp_path)


@contextmanager
def no_children(pid: int) -> Generator[Callable[[], int], None, None]:
    """Inside, the process has no child at any moment that is looked at. Gives how often it was looked."""
    process, over, found, looks = psutil.Process(pid), threading.Event(), list[str](), itertools.count()

    def watch() -> None:
        while not over.wait(0.1):  # all processes are looked at
            found.extend(repr(child) for child in process.children(recursive=True))
            next(looks)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lambda: next(looks)
    finally:
        over.set()
        thread.join()
    assert found == []


# ------------------------------------------------------------ every feature


async def everything(ed: Editor, run: str, *, deletes: bool = False) -> set[str]:
    """Use all that the server says it can; the names of what was used. ``deletes``: also the run that all the rest is about."""
    can = ed.result.capabilities
    told = {a.name for a in attrs.fields(type(can)) if a.name.endswith("_provider") and getattr(can, a.name)}
    unknown = told - REQUESTS.keys() - {"execute_command_provider"}
    assert not unknown, f"the server offers {unknown}, and this test doesn't use it: add a request of it to REQUESTS"
    for name in told & REQUESTS.keys():
        for method, params in REQUESTS[name](ed):
            await asked(ed, method, params)
    commands = ed.result.capabilities.execute_command_provider
    assert commands is not None
    for command in commands.commands:
        for arguments in await guesses(ed, command, run):
            if command == FORGET and arguments == [run] and not deletes:
                continue
            await asked(ed, types.WORKSPACE_EXECUTE_COMMAND, types.ExecuteCommandParams(command, arguments))
    return told | set(commands.commands)


async def asked(ed: Editor, method: str, params: object) -> str:
    """The error's sentence, "" for an answer."""
    if isinstance(params, dict):
        params = ed.client.protocol._converter.structure(params, types.METHOD_TO_TYPES[method][2])
    try:
        await asyncio.wait_for(ed.client.protocol.send_request_async(method, params), 120)
    except JsonRpcException as error:
        return str(error)
    return ""


async def guesses(ed: Editor, command: str, run: str) -> list[list[Any]]:
    """Every way to call it that could mean something: the server says which kinds of arguments it takes."""
    sentence = await asked(ed, types.WORKSPACE_EXECUTE_COMMAND, types.ExecuteCommandParams(command, [[]]))
    told = re.search(r"takes these arguments: ([\w, ]+)\.", sentence)
    assert told, f"{command} doesn't say which arguments it takes: {sentence}"
    kinds = [] if told[1] == "none" else told[1].split(", ")
    words = [ed.uri, "scale_kernel", run, *(["bench", "HEAD", NOBODY] if kinds.count("str") < 3 else [])]
    pools: dict[str, list[Any]] = {"str": words, "int": [1, 2], "bool": [True], "dict": [{"trials": 1}]}
    return [list(x) for x in itertools.product(*(pools[kind] for kind in kinds))]


async def sung(traps: Traps) -> list[str]:
    return traps.sung


def at(ed: Editor) -> dict[str, Any]:
    return {"textDocument": {"uri": ed.uri}, "position": {"line": ed.at("scale_kernel").line, "character": ed.at("scale_kernel").character}}


def over(ed: Editor) -> dict[str, Any]:
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": ed.text.count("\n"), "character": 0}}
    return {"textDocument": {"uri": ed.uri}, "range": whole}


Requests = list[tuple[str, Any]]
#: For each capability how it is used.
REQUESTS: dict[str, Callable[[Editor], Requests]] = {
    "code_lens_provider": lambda ed: [("textDocument/codeLens", {"textDocument": {"uri": ed.uri}})],
    "hover_provider": lambda ed: [("textDocument/hover", at(ed))],
    "code_action_provider": lambda ed: [
        ("textDocument/codeAction", over(ed) | {"context": {"diagnostics": []}}),
        ("codeAction/resolve", {"title": "t", "data": {"uri": ed.uri, "kernel": "scale_kernel", "run": NOBODY, "number": 1}}),
    ],
    "diagnostic_provider": lambda ed: [
        ("textDocument/diagnostic", {"textDocument": {"uri": ed.uri}}),
        ("workspace/diagnostic", {"previousResultIds": []}),
    ],
    "inlay_hint_provider": lambda ed: [("textDocument/inlayHint", over(ed))],
    "document_symbol_provider": lambda ed: [("textDocument/documentSymbol", {"textDocument": {"uri": ed.uri}})],
    "definition_provider": lambda ed: [("textDocument/definition", at(ed))],
    "completion_provider": lambda ed: [("textDocument/completion", at(ed))],
}


@pytest.mark.asyncio
@pytest.mark.parametrize("command", [(sys.executable, "-m", "kernelband"), (SCRIPT,)], ids=["module", "script"])
async def test_every_feature_in_a_folder_full_of_traps(traps: Traps, command: tuple[str, ...]) -> None:
    home = traps.home
    traps.plant(package=command == (SCRIPT,))
    async with editor(home, PROFILES[0], trusted=False, command=command, env=traps.environment, trials=2, inspect="save") as ed:
        server = ed.client._server
        assert server is not None
        ed.picks = 0
        with no_children(server.pid) as looks:
            ed.open()
            pyproject = home.work / "pyproject.toml"
            item = types.TextDocumentItem(pyproject.as_uri(), "toml", 1, pyproject.read_text())
            ed.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            await ed.eventually(ed.lenses, lambda found: any("variant" in title for title in found))
            run = (await ed.command("report", ed.uri, "scale_kernel"))["runs"][0]["id"]
            used = await everything(ed, run)
            assert {"hover_provider", "kernelband.server.optimize", "kernelband.server.resume"} <= used
            ed.type("torch.empty_like(x)", "torch.zeros_like(x)")
            await everything(ed, run)
            ed.client.text_document_did_save(types.DidSaveTextDocumentParams(ed.document, text=ed.text))
            settings = {"kernelband": {"trials": 1, "seconds": 20}}
            ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
            await everything(ed, run, deletes=True)
            assert looks() > 10
        assert (traps.sung, traps.started) == ([], [])
        # and so that all this can fail
        traps.unshadow()
        with pytest.raises(Exception, match="isn't trusted"):
            await ed.command("optimize", ed.uri, "scale_kernel")
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": home.work.as_uri(), "trusted": True}]})
        await ed.command("optimize", ed.uri, "scale_kernel")
        await ed.eventually(lambda: sung(traps), lambda found: "module" in found)
        await ed.command("stop_all")
        assert traps.started
        # what only the user may name is not taken from the repository, also where it is trusted
        assert not {"interpreter", "worker", "db"} & set(traps.sung)


def test_commands_that_only_look_run_nothing_of_the_folder(traps: Traps) -> None:
    home = traps.home
    traps.plant(package=False)
    db = ("--db", str(home.db))
    for words in (
        ("kernels", "scale.py"),
        ("history", *db),
        ("show", "last", *db),
        ("show", "last/1", *db),
        ("apply", "last/1", "--diff", *db),
        ("trust",),
        ("doctor", "--python", home.python, *db),
        ("--help",),
    ):
        done = home.run(*words)
        assert traps.sung == [], words
        assert done.code in (0, 1), (words, done.err)
    traps.unshadow()
    home.run("optimize", "scale.py", "--trials", "1", "--python", home.python, *db)
    assert "module" in traps.sung  # commands that run are the user's own word
    assert not {"interpreter", "worker"} & set(traps.sung)

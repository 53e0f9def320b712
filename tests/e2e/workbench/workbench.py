"""A real VS Code workbench: code-server with folders of its own, looked at with Chromium. Nothing of it is left at the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
from attrs import frozen
from playwright.sync_api import Browser, BrowserContext, Page

from tests.e2e.workbench.quiet import BUILT_IN, QUIET, STILL, plain_environment
from tests.e2e.workbench.screen import Screen

#: Names the processes of a workbench, whatever sessions and groups they are in.
MARK = "WORKBENCH_OF_TEST"
#: Processes of code-server itself, which outlive a window.
SERVING = ("out/node/entry", "--type=ptyHost", "--type=fileWatcher")
#: What a page may keep in a browser; what has been fetched isn't among it.
KEPT = "cookies,file_systems,indexeddb,local_storage,service_workers,cache_storage"
#: Seconds that a program may take here to do what takes it one: reached on failure only, whatever else the machine does.
PATIENCE_S = 360


@frozen
class Programs:
    """What .ci/workbench installed."""

    node: Path
    entry: Path

    @property
    def built_in(self) -> Path:
        """The folder of the extensions that VS Code brings along."""
        return self.entry.parents[2] / "lib" / "vscode" / "extensions"

    def run(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([str(self.node), str(self.entry), *arguments], start_new_session=True, **options)


class Workbench:
    """One profile: settings, extensions, state and history that no other test has seen.

    ``extensions`` is a folder of installed ones to begin with, which is copied; ``env`` what its processes find beside the quiet
    environment here, where no test environment is on ``PATH`` and nothing is set up for KernelBand.
    """

    def __init__(
        self,
        programs: Programs,
        browser: Browser,
        folder: Path,
        *,
        trust: bool = False,
        extensions: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.programs, self.browser, self.folder, self.trust = programs, browser, folder, trust
        self.data, self.extensions, self.home = folder / "data", folder / "extensions", folder / "home"
        for made in (self.data / "User", self.data / "Machine", self.home):
            made.mkdir(parents=True)
        if extensions is None:
            self.extensions.mkdir()
        else:
            shutil.copytree(extensions, self.extensions)
        self.built_in = folder / "built-in"
        self.built_in.mkdir()
        for name in BUILT_IN:
            (self.built_in / name).symlink_to(programs.built_in / name)
            assert (self.built_in / name / "package.json").exists(), f"VS Code has no extension {name}"
        self.config = folder / "config.yaml"
        self.config.write_text("auth: none\n")
        self.said = folder / "code-server.txt"
        self.mark = uuid.uuid4().hex
        self.env = {**plain_environment(), "HOME": str(self.home), MARK: self.mark, **(env or {})}
        for name in ("CONFIG", "DATA", "CACHE", "STATE"):
            self.env[f"XDG_{name}_HOME"] = str(folder / "xdg" / name.lower())
        self.settings: dict[str, Any] = {}
        self.of_machine: dict[str, Any] = {}
        self.configure(QUIET)
        self.process: subprocess.Popen[bytes] | None = None
        self.context: BrowserContext | None = None
        self.ready_s = 0.0
        self.address = ""

    # ------------------------------------------------------------ before it starts

    def configure(self, settings: Mapping[str, Any], screen: Screen | None = None) -> None:
        """Set the user's settings; None takes one away. A workbench that runs doesn't watch their file: there it is done on ``screen``.

        KernelBand's go where VS Code looks for those of a machine that a browser, or an editor elsewhere, is connected to.
        """
        self.settings.update({name: value for name, value in settings.items() if not name.startswith("kernelband.")})
        self.of_machine.update({name: value for name, value in settings.items() if name.startswith("kernelband.")})
        for folder, told in (("User", self.settings), ("Machine", self.of_machine)):
            path = self.data / folder / "settings.json"
            text = json.dumps({name: value for name, value in told.items() if value is not None}, indent=2)
            if screen is None or not path.exists():
                path.write_text(text)
            elif path.read_text() != text:
                screen.write_settings(folder, text)

    def install(self, vsix: Path) -> None:
        """As a person does, from the file."""
        process = self.programs.run(
            *self._folders, "--install-extension", str(vsix), "--force", env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said = process.communicate(timeout=PATIENCE_S)[0].decode()
        assert process.returncode == 0, said
        assert "successfully installed" in said, said

    @property
    def _folders(self) -> tuple[str, ...]:
        return ("--config", str(self.config), "--extensions-dir", str(self.extensions), "--user-data-dir", str(self.data))

    # ------------------------------------------------------------ running

    def start(self, workspace: Path, *files: Path) -> Screen:
        """Open ``workspace`` in a browser; ready when the explorer shows it. ``files`` are open from the start."""
        if self.process is None:
            self.serve()
        return self.show(workspace, *files)

    def serve(self) -> None:
        """Start code-server."""
        switches = ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check"]
        switches += ["--disable-getting-started-override", *([] if self.trust else ["--disable-workspace-trust"])]
        switches += ["--builtin-extensions-dir", str(self.built_in)]
        self.address = ""
        with self.said.open("wb") as out:
            self.process = self.programs.run(*self._folders, *switches, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        eventually(self._listens, PATIENCE_S)

    def _listens(self) -> bool:
        assert self.process is not None
        said = self.said.read_text()
        assert self.process.poll() is None, f"code-server has ended: {said}"
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", said)
        self.address = found[1] if found else ""
        return bool(found)

    def show(self, workspace: Path, *files: Path) -> Screen:
        """Another window, in the same browser profile."""
        if self.context is None:
            self.context = self.browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
            self.context.add_init_script(STILL)
            self.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=self.address)
        query = {"folder" if workspace.is_dir() else "workspace": str(workspace)}
        if files:
            host = self.address.removeprefix("http://")
            query["payload"] = json.dumps([["openFile", f"vscode-remote://{host}{path}"] for path in files])
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        begin = time.monotonic()
        page.goto(f"{self.address}/?{urlencode(query)}", wait_until="commit")
        screen = Screen(page)
        screen.wait_until_ready()
        self.ready_s = time.monotonic() - begin
        return screen

    # ------------------------------------------------------------ looking

    def logs(self) -> dict[str, str]:
        """What the extension host, its extensions and code-server have written: text by its place under the profile."""
        found = [*sorted(self.data.glob("logs/*/exthost*/**/*.log")), self.said]
        return {str(path.relative_to(self.folder)): path.read_text(errors="replace") for path in found if path.exists()}

    def keep(self, folder: Path) -> list[str]:
        """The logs, then pictures of all windows and of their notifications: for the person who looks why a test failed.

        Returns what notifications, the open list and the open dialog say, for whoever has the test's output alone.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.logs().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        said: list[str] = []
        for number, page in enumerate(self.pages, 1):
            page.screenshot(path=folder / f"window{number}.png", timeout=10_000)
            said += [f"Open: {text}" for text in page.locator(":is(.quick-input-widget, .monaco-dialog-box):visible").all_inner_texts()]
            if (bell := page.locator('.statusbar-item[id="status.notifications"] a')).is_visible():
                bell.dispatch_event("click")
                page.wait_for_timeout(500)
                page.screenshot(path=folder / f"window{number}-notifications.png", timeout=10_000)
                messages = page.locator(".notifications-center .notification-list-item-message")
                said += [f"Notification: {text}" for text in messages.all_inner_texts()]
        return said

    @property
    def pages(self) -> list[Page]:
        return self.context.pages if self.context is not None else []

    def processes(self, word: str = "") -> list[psutil.Process]:
        """Every process that descends from this workbench, by the mark in its environment, with this in its command line."""
        return [process for process in psutil.process_iter() if self._is_mine(process, word)]

    def _is_mine(self, process: psutil.Process, word: str) -> bool:
        # in one try: it may end between any two of these
        try:
            mine = process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE
            return mine and word in " ".join(process.cmdline())
        except psutil.Error:
            return False

    # ------------------------------------------------------------ ending

    def renew(self) -> list[str]:
        """Close its windows and forget all that was set, said and kept since it was made; code-server and its extensions stay.

        Returns the command lines of what the windows had started and had to be killed.
        """
        if self.context is not None:
            page = self.context.new_page()
            for other in self.pages:
                if other is not page:
                    other.on("dialog", lambda dialog: dialog.accept())  # of text that isn't saved
                    other.goto("about:blank")  # a page that is only closed leaves its process, half a gigabyte, until the browser ends
                    other.close()
            kept = {"origin": self.address, "storageTypes": KEPT}
            self.context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
            page.close()
        for process in self.processes("--type=extensionHost"):  # it would wait for its window to come back
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        left = self._end(self._started, PATIENCE_S / 2)
        for folder in (self.data / "User", self.data / "Machine", self.home, *self.data.glob("logs/*"), *self.folder.glob("xdg/*")):
            for path in folder.iterdir():
                if path.is_dir() and path.name != "code-server":
                    shutil.rmtree(path)
                elif path.is_file():
                    path.unlink()
        self.settings, self.of_machine = {}, {}
        self.configure(QUIET)
        return left

    def close_windows(self) -> None:
        """With all that the browser remembers."""
        if self.context is not None:
            self.context.close()
            self.context = None

    def stop(self, seconds: float = PATIENCE_S / 2) -> list[str]:
        """End code-server as a service manager does, and give all that it started that time to end.

        Returns the command lines of what it had started and had to be killed. Its own inner process has been seen to outlive
        SIGTERM by a minute: that is killed, too, but no fault of what is tested.
        """
        self.close_windows()
        if self.process is None:
            return []
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(PATIENCE_S)
        self.process = None
        left = self._end(self._started, seconds)
        self._end(self.processes, 5)
        return left

    def _started(self) -> list[psutil.Process]:
        """All that isn't code-server itself."""
        return [process for process in self.processes() if not _serves(process)]

    def _end(self, found: Callable[[], list[psutil.Process]], seconds: float) -> list[str]:
        """Give processes that time, then kill them; the command lines of those."""
        left = [] if _within(lambda: not found(), seconds) else found()
        told = [_killed(process) for process in left]
        psutil.wait_procs(left, 5)
        return told

    def remove(self) -> None:
        """The profile of a test that passed: some tens of MB."""
        shutil.rmtree(self.folder)


def _serves(process: psutil.Process) -> bool:
    try:
        said = " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return True  # it has ended, so it isn't left
    return any(word in said for word in SERVING)


def _killed(process: psutil.Process) -> str:
    """What it was, for the person who reads it; it may have ended by itself meanwhile."""
    try:
        told = f"{process.pid}: {' '.join(process.cmdline())[:300]}"
        process.kill()
    except psutil.NoSuchProcess:
        return f"{process.pid}: ended by itself, late"
    return told


def _within(wanted: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not wanted():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def eventually(wanted: Callable[[], bool], seconds: float) -> None:
    """Wait for it."""
    assert _within(wanted, seconds), f"not within {seconds} s"
